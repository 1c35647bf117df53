package baseline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

func (d *differ) argTypes() {
	d.textTimes()
	d.eachArgs(func(name string, base, now *shape.Category) {
		for _, key := range sorted(base.Args) {
			a, b := base.Args[key], now.Args[key]
			if b == nil || len(a.Types) == 0 {
				continue
			}
			d.checked++
			d.judged = true
			var other []string
			for _, t := range b.Types {
				if !slices.Contains(a.Types, t) && !(t == "integer" && slices.Contains(a.Types, "number")) {
					other = append(other, t)
				}
			}
			if len(other) == 0 {
				d.arrays(name, key, a, b)
				continue
			}
			d.broken++
			f := verdict.Finding{Subject: "type:" + name + "/" + key, Severity: keySeverity(name, key), Where: d.first(name, key),
				What:     fmt.Sprintf("argument %q of category %s is of another type than in the base", key, name),
				Expected: strings.Join(a.Types, " or "), Got: strings.Join(b.Types, " or "), Fix: "write it as the base does: readers take the value by its type"}
			if !a.Required {
				f.Severity = verdict.Warning
			}
			d.find(f)
		}
	})
}

// textTimes tells times that are text where they are numbers in the base, as in all
// that torch.profiler writes.
func (d *differ) textTimes() {
	s := d.now.Seen
	if s == nil || s.TextTimes == 0 {
		return
	}
	d.judged = true
	d.checked, d.broken = d.checked+1, d.broken+1
	if b := d.base.Seen; b != nil && b.TextTimes > 0 {
		d.same = true
		return
	}
	d.find(verdict.Finding{Subject: "type:ts", Severity: verdict.Warning, Where: verdict.Place{Key: "ts", Event: -1, Offset: -1}, Count: s.TextTimes,
		What: fmt.Sprintf("%s, ts or dur, %s written as text", count(int(s.TextTimes), "time"), isOrAre(s.TextTimes)), Expected: "numbers", Got: "text in quotes",
		Fix: "write times as numbers of microseconds: viewers and scripts calculate with them"})
}

func isOrAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// arrays holds the forms of an argument's arrays against the base's, which a file that
// was made earlier does not tell.
func (d *differ) arrays(category, key string, base, now *shape.Arg) {
	if len(base.Arrays) == 0 || !slices.Contains(now.Types, "array") {
		return
	}
	expected, got := arraysText(base.Arrays), arraysText(now.Arrays)
	if len(now.Arrays) == 0 {
		got = "arrays of many lengths"
	} else if !slices.ContainsFunc(now.Arrays, func(form string) bool { return !shape.ArrayFits(form, base.Arrays) }) {
		return
	}
	d.broken++
	f := verdict.Finding{Subject: "type:" + category + "/" + key, Severity: keySeverity(category, key), Where: d.first(category, key),
		What:     fmt.Sprintf("argument %q of category %s is another array than in the base", key, category),
		Expected: expected, Got: got, Fix: "write as many elements as the base has, of their type: readers take them by their place"}
	if !base.Required {
		f.Severity = verdict.Warning
	}
	d.find(f)
}

func arraysText(forms []string) string {
	var words []string
	for _, f := range forms {
		words = append(words, shape.ArrayText(f))
	}
	return strings.Join(words, " or ")
}
