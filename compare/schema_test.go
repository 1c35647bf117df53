package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// conforms holds a document against a schema, as far as ours use the language.
func conforms(root, schema map[string]any, v any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		defs := root["$defs"].(map[string]any)
		return conforms(root, defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), v, at)
	}
	if want, ok := schema["const"]; ok && v != want {
		return fmt.Errorf("%s is %v, not %v", at, v, want)
	}
	if list, ok := schema["enum"].([]any); ok && !slices.Contains(list, v) {
		return fmt.Errorf("%s is %v", at, v)
	}
	switch schema["type"] {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object", at)
		}
		required, _ := schema["required"].([]any)
		for _, key := range required {
			if _, ok := m[key.(string)]; !ok {
				return fmt.Errorf("%s has no %v", at, key)
			}
		}
		properties := schema["properties"].(map[string]any)
		for key, x := range m {
			p, ok := properties[key].(map[string]any)
			if !ok {
				return fmt.Errorf("%s has %s, of which the schema knows nothing", at, key)
			}
			if err := conforms(root, p, x, at+"/"+key); err != nil {
				return err
			}
		}
	case "array":
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%s is no array", at)
		}
		for i, x := range list {
			if err := conforms(root, schema["items"].(map[string]any), x, fmt.Sprintf("%s/%d", at, i)); err != nil {
				return err
			}
		}
	case "string":
		if _, ok := v.(string); !ok {
			return fmt.Errorf("%s is no string", at)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%s is no boolean", at)
		}
	case "number", "integer":
		f, ok := v.(float64)
		if !ok || schema["type"] == "integer" && f != float64(int64(f)) {
			return fmt.Errorf("%s is %v, no %v", at, v, schema["type"])
		}
	}
	return nil
}

func TestSchema(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(ReportSchema, &schema); err != nil {
		t.Fatal(err)
	}
	five := stepRuns(t, 5, 1, 1)
	other := program(t, "aten::x\n\tkernel: gemm 10\norphan: k 5")
	other.Trace.Completeness = nil
	for name, r := range map[string]*Report{
		"several runs": Run(five, stepRuns(t, 5, 1.05, 1), Options{}),
		"single runs":  Run(five[:1], five[1:2], Options{Correction: BH}),
		"one-sided":    Run([]Input{program(t, "aten::x\n\tkernel: gemm 9")}, []Input{other}, Options{}),
		"incomparable": Run(nil, five, Options{}),
	} {
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if err := conforms(schema, schema, doc, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
