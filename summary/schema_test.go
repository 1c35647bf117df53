package summary

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite schema.json and the goldens")

// comments are the doc comments of this module's struct types and their fields, by
// "package.Type" and "package.Type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range []string{".", "../measure"} {
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, spec := range g.Specs {
					s := spec.(*ast.TypeSpec)
					name := f.Name.Name + "." + s.Name.Name
					out[name] = oneLine(g.Doc.Text())
					st, ok := s.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, field := range st.Fields.List {
						text := oneLine(field.Doc.Text())
						if text == "" {
							text = oneLine(field.Comment.Text())
						}
						for _, id := range field.Names {
							out[name+"."+id.Name] = text
							text = ""
						}
					}
				}
			}
		}
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// schemaOf makes the schema of a type; structs become definitions.
func schemaOf(t reflect.Type, defs map[string]any, docs map[string]string) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), defs, docs)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), defs, docs)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), defs, docs)}
	case reflect.Struct:
		name := t.String()
		if strings.HasPrefix(name, "ranks.") {
			return map[string]any{"type": "object", "description": "what flagos-trace ranks --json prints, without its operations"}
		}
		if _, ok := defs[name]; !ok {
			def := map[string]any{"type": "object", "additionalProperties": false}
			defs[name] = def
			if docs[name] != "" {
				def["description"] = docs[name]
			}
			properties, required := map[string]any{}, []string{}
			addFields(t, true, properties, &required, defs, docs)
			def["properties"], def["required"] = properties, required
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	}
	return map[string]any{"type": "integer"}
}

func addFields(t reflect.Type, always bool, properties map[string]any, required *[]string, defs map[string]any, docs map[string]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			in := f.Type
			if in.Kind() == reflect.Pointer {
				in = in.Elem()
			}
			addFields(in, always && f.Type.Kind() != reflect.Pointer, properties, required, defs, docs)
			continue
		}
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || key == "-" {
			continue
		}
		p := schemaOf(f.Type, defs, docs)
		if text := docs[t.String()+"."+f.Name]; text != "" {
			p["description"] = text
		}
		properties[key] = p
		if always && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, key)
		}
	}
}

// TestSchema keeps schema.json equal to the types and their comments.
func TestSchema(t *testing.T) {
	defs := map[string]any{}
	schemaOf(reflect.TypeFor[Summary](), defs, comments(t))
	doc := map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"$id":         "https://github.com/flagos-ai/flagos-trace/summary/schema.json",
		"title":       "Output of flagos-trace summary --json",
		"description": "Times are nanoseconds. What a trace does not hold is absent. Fields are added without a new version; none is renamed, removed or given another meaning within one.",
		"$ref":        "#/$defs/summary.Summary",
		"$defs":       defs,
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(b.Bytes(), JSONSchema) {
		t.Error("schema.json is stale: run go test ./summary -update")
	}
}

// conforms holds a value against a schema, as far as ours uses the language.
func conforms(defs, schema map[string]any, v any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		return conforms(defs, defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), v, at)
	}
	bad := func(ok bool) error {
		if !ok {
			return fmt.Errorf("%s is %T, not %v", at, v, schema["type"])
		}
		return nil
	}
	switch schema["type"] {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return bad(false)
		}
		required, _ := schema["required"].([]any)
		for _, key := range required {
			if _, ok := m[key.(string)]; !ok {
				return fmt.Errorf("%s has no %v", at, key)
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		if _, closed := schema["additionalProperties"]; !closed {
			return nil // it is described elsewhere
		}
		for key, x := range m {
			p, ok := properties[key].(map[string]any)
			if !ok {
				p, ok = schema["additionalProperties"].(map[string]any)
			}
			if !ok {
				return fmt.Errorf("%s has %s, of which the schema knows nothing", at, key)
			}
			if err := conforms(defs, p, x, at+"/"+key); err != nil {
				return err
			}
		}
	case "array":
		list, ok := v.([]any)
		if !ok {
			return bad(false)
		}
		for i, x := range list {
			if err := conforms(defs, schema["items"].(map[string]any), x, fmt.Sprintf("%s/%d", at, i)); err != nil {
				return err
			}
		}
	case "string":
		_, ok := v.(string)
		return bad(ok)
	case "boolean":
		_, ok := v.(bool)
		return bad(ok)
	case "integer":
		n, ok := v.(float64)
		return bad(ok && n == float64(int64(n)))
	case "number":
		_, ok := v.(float64)
		return bad(ok)
	}
	return nil
}

// TestJSON: what is written conforms to the schema, with ranks, without devices, and
// with everything.
func TestJSON(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(JSONSchema, &schema); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Summary{
		"program":      read(t, Options{}, program().file(t, "a.json", "")),
		"ranks":        read(t, Options{}, rank(t, 0, 20), rank(t, 1, 60)),
		"only a host":  read(t, Options{}, new(writer).op("aten::mm", 0, 10, 1).file(t, "a.json", "")),
		"nothing":      read(t, Options{}, new(writer).file(t, "a.json", "")),
		"shapes, part": read(t, Options{ByShape: true, From: "10us"}, program().file(t, "a.json", "")),
	} {
		var b bytes.Buffer
		if err := s.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if err := conforms(schema["$defs"].(map[string]any), schema, v, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTables: every row has a cell for each column, and CSV has them all.
func TestTables(t *testing.T) {
	for _, s := range []*Summary{
		read(t, Options{ByShape: true}, program().file(t, "a.json", "")),
		read(t, Options{}, rank(t, 0, 20), rank(t, 1, 60)),
		read(t, Options{}, new(writer).op("aten::mm", 0, 10, 1).file(t, "a.json", "")),
	} {
		for i, table := range s.Tables() {
			if table.Name != TableNames[i] {
				t.Errorf("table %d is %s, not %s", i, table.Name, TableNames[i])
			}
			keys := map[string]bool{}
			for _, c := range table.Columns {
				if keys[c.Key] {
					t.Errorf("%s has two columns %s", table.Name, c.Key)
				}
				keys[c.Key] = true
			}
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Fatalf("%s: %d cells in %d columns", table.Name, len(row), len(table.Columns))
				}
			}
			var b bytes.Buffer
			if err := table.WriteCSV(&b); err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(b.String(), "\n"); lines != len(table.Rows)+1 {
				t.Errorf("%s: %d lines of CSV for %d rows", table.Name, lines, len(table.Rows))
			}
		}
	}
}
