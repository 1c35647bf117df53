package gate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is what of a composite action runs.
type action struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

type step struct {
	Name, ID, If, Uses, Shell, Run string
	Env, With                      map[string]string
}

// job runs the steps of an action as a runner does: expressions replaced, each step a
// bash of its own with the environment of GitHub's, outputs read from its file.
type job struct {
	t       *testing.T
	action  action
	context map[string]string // what expressions name
	env     []string
	temp    string
	used    []string // actions that would have run
	out     string
}

func newJob(t *testing.T, inputs map[string]string) *job {
	t.Helper()
	text, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	j := &job{t: t, temp: t.TempDir(), context: map[string]string{"github.token": "secret", "github.action_path": root, "github.event.number": "7"}}
	if err := yaml.Unmarshal(text, &j.action); err != nil {
		t.Fatal(err)
	}
	for name := range inputs {
		if _, ok := j.action.Inputs[name]; !ok {
			t.Fatalf("the action has no input %s", name)
		}
	}
	for name, in := range j.action.Inputs {
		j.context["inputs."+name] = j.expand(in.Default)
		if v, ok := inputs[name]; ok {
			j.context["inputs."+name] = v
		}
	}
	for _, name := range []string{"output", "summary"} {
		if err := os.WriteFile(filepath.Join(j.temp, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j.env = append(os.Environ(), "GITHUB_ACTIONS=true", "CI=true", "RUNNER_TEMP="+j.temp, "GITHUB_ACTION_PATH="+root, "GITHUB_REPOSITORY=owner/name",
		"GITHUB_OUTPUT="+filepath.Join(j.temp, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(j.temp, "summary"),
		"PATH="+j.temp+"/bin:"+os.Getenv("PATH"))
	return j
}

var expression = regexp.MustCompile(`\$\{\{ *([^}]+?) *\}\}`)

// expand replaces expressions. One that names nothing is a mistake of the action's,
// but for outputs of steps that did not set them.
func (j *job) expand(s string) string {
	return expression.ReplaceAllStringFunc(s, func(e string) string { return j.value(expression.FindStringSubmatch(e)[1]) })
}

func (j *job) value(name string) string {
	v, ok := j.context[name]
	if !ok && !strings.HasPrefix(name, "steps.gate.outputs.") {
		j.t.Fatalf("the expression %q names nothing", name)
	}
	return v
}

// holds evaluates a condition: comparisons with text, joined by &&.
func (j *job) holds(condition string) bool {
	if condition == "" {
		return true
	}
	for _, part := range strings.Split(condition, "&&") {
		f := strings.Fields(part)
		if len(f) != 3 || f[1] != "==" && f[1] != "!=" {
			j.t.Fatalf("the condition %q is none that this test understands", condition)
		}
		if (j.value(f[0]) == strings.Trim(f[2], "'")) != (f[1] == "==") {
			return false
		}
	}
	return true
}

// run runs all steps up to one that fails, and returns the status of that.
func (j *job) run() int {
	j.t.Helper()
	for _, s := range j.action.Runs.Steps {
		if !j.holds(s.If) {
			continue
		}
		if s.Uses != "" {
			for _, v := range s.With {
				j.expand(v)
			}
			j.used = append(j.used, s.Uses)
			continue
		}
		if s.Shell != "bash" || expression.MatchString(s.Run) {
			j.t.Fatalf("step %s: shell %q; a step must not have expressions in its script, which inputs could command", s.Name, s.Shell)
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Env = j.env
		for k, v := range s.Env {
			cmd.Env = append(cmd.Env, k+"="+j.expand(v))
		}
		out, err := cmd.CombinedOutput()
		j.out += string(out)
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			return exit.ExitCode()
		case err != nil:
			j.t.Fatal(err)
		}
		if s.ID != "" {
			text, err := os.ReadFile(filepath.Join(j.temp, "output"))
			if err != nil {
				j.t.Fatal(err)
			}
			for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
				name, value, ok := strings.Cut(l, "=")
				if !ok {
					j.t.Fatalf("output %q", l)
				}
				j.context["steps."+s.ID+".outputs."+name] = value
			}
		}
	}
	return 0
}

func (j *job) output(name string) string { return j.expand(j.action.Outputs[name].Value) }

func (j *job) read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// tool builds flagos-trace, by the action's own step.
func tool(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	j := newJob(t, nil)
	for _, s := range j.action.Runs.Steps {
		if s.Name == "Build flagos-trace" && j.holds(s.If) {
			j.action.Runs.Steps = []step{s}
			if status := j.run(); status != 0 {
				t.Fatalf("the step that builds ends with %d: %s", status, j.out)
			}
			return filepath.Join(j.temp, "flagos-trace-gate", "flagos-trace")
		}
	}
	t.Fatal("no step builds flagos-trace")
	return ""
}

// TestAction runs the steps of action.yml, and the example for GitLab.
func TestAction(t *testing.T) {
	bin := tool(t)
	t.Run("GitLab", func(t *testing.T) { testGitLab(t, bin) })
	p := pairs(t)
	dir := filepath.Join(t.TempDir(), "with space")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	for name, text := range map[string]string{
		"gate.yaml":   "version: 1\nvalidate: {}\n",
		"unsure.yaml": "version: 1\nvalidate: {advisory: true}\n",
		"typo.yaml":   "version: 1\nvalidat: {}\n",
		// A name that would command the runner, if it began a line.
		"evil.json": `{"traceEvents": [{"ph":"X","cat":"kernel","name":"::stop-commands::x\n::error::evil","pid":0,"tid":7,"ts":1,"dur":-2,"args":{}}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		inputs  map[string]string
		status  int
		verdict string
		check   func(t *testing.T, j *job)
	}{
		{"pass", map[string]string{"trace": p + "/train.kineto.json.gz"}, 0, "pass", func(t *testing.T, j *job) {
			if s := j.read(j.temp + "/summary"); !strings.Contains(s, "## flagos-trace gate: pass") {
				t.Errorf("summary %q", s)
			}
			if len(j.used) != 0 {
				t.Errorf("used %v", j.used)
			}
		}},
		{"a pattern, and a blank line", map[string]string{"trace": "\n" + p + "/[bc]*.kineto.json.gz\n", "upload-sarif": "true", "summary": "false"}, 1, "regression", func(t *testing.T, j *job) {
			for _, s := range []string{"validate (" + p + "/basic.kineto.json.gz)", "validate (" + p + "/comp.kineto.json.gz)", "::error file="} {
				if !strings.Contains(j.out, s) {
					t.Errorf("no %q in %s", s, j.out)
				}
			}
			if len(j.used) != 1 || !strings.HasPrefix(j.used[0], "github/codeql-action/upload-sarif@") {
				t.Errorf("used %v", j.used)
			}
			if s := j.read(j.temp + "/summary"); s != "" {
				t.Errorf("summary %q", s)
			}
			for _, name := range []string{"json", "junit", "sarif"} {
				if j.read(j.output(name)) == "" {
					t.Errorf("no file for %s: %q", name, j.output(name))
				}
			}
		}},
		{"a configuration", map[string]string{"trace": p + "/comp.kineto.json.gz", "config": dir + "/gate.yaml"}, 0, "pass", nil},
		{"no annotations", map[string]string{"trace": p + "/comp.kineto.json.gz", "annotations": "false"}, 1, "regression", func(t *testing.T, j *job) {
			if strings.Contains(j.out, "::error") {
				t.Error(j.out)
			}
		}},
		{"inconclusive", map[string]string{"trace": p + "/comp.kineto.json.gz", "config": dir + "/unsure.yaml"}, 2, "inconclusive", nil},
		{"inconclusive, and allowed", map[string]string{"trace": p + "/comp.kineto.json.gz", "config": dir + "/unsure.yaml", "allow-inconclusive": "true"}, 0, "inconclusive", nil},
		{"no such trace", map[string]string{"trace": dir + "/*.moon"}, 3, "incomparable", nil},
		{"a bad configuration", map[string]string{"config": dir + "/typo.yaml", "comment": "true"}, 3, "", func(t *testing.T, j *job) {
			if !strings.Contains(j.out, "line 2") {
				t.Error(j.out)
			}
		}},
		{"inputs are text", map[string]string{"trace": "$(touch " + ran + ")`touch " + ran + "`*", "baseline": "--help"}, 3, "incomparable", func(t *testing.T, j *job) {
			if _, err := os.Stat(ran); err == nil {
				t.Error("an input was run")
			}
		}},
		{"a hostile trace", map[string]string{"trace": dir + "/evil.json"}, 1, "regression", func(t *testing.T, j *job) {
			end := regexp.MustCompile(`^::([0-9a-f]{32})::$`)
			silenced := ""
			for _, l := range strings.Split(j.out, "\n") {
				if token, ok := strings.CutPrefix(l, "::stop-commands::"); ok && silenced == "" {
					silenced = token
				} else if m := end.FindStringSubmatch(l); m != nil && m[1] == silenced {
					silenced = "over"
				} else if strings.HasPrefix(strings.TrimSpace(l), "::") && !regexp.MustCompile(`^::(error|warning|notice) (file|title)=`).MatchString(l) && silenced == "over" {
					t.Errorf("a command of the trace's: %q", l)
				}
			}
			if silenced != "over" {
				t.Errorf("commands were not stopped while the text was printed, or not begun again: %q", j.out)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.inputs["binary"] = bin
			j := newJob(t, c.inputs)
			status := j.run()
			if status != c.status || j.output("verdict") != c.verdict {
				t.Errorf("status %d, verdict %q: %s", status, j.output("verdict"), j.out)
			}
			if want := fmt.Sprint(c.status); c.inputs["allow-inconclusive"] == "" && j.output("exit-code") != want {
				t.Errorf("exit-code %q", j.output("exit-code"))
			}
			if c.check != nil {
				c.check(t, j)
			}
		})
	}
	t.Run("comment", func(t *testing.T) { testComment(t, bin) })
}

// testComment: one comment is made, and renewed; that it may not be written fails
// nothing.
func testComment(t *testing.T, bin string) {
	if _, err := exec.LookPath("iconv"); err != nil {
		t.Skip("there is no iconv")
	}
	for _, c := range []struct{ name, gh, wants string }{
		{"first", "", "api -X POST repos/owner/name/issues/7/comments -F body=@"},
		{"again", `case "$*" in *--jq*) printf '41\n42\n';; esac`, "api -X PATCH repos/owner/name/issues/comments/41 -F body=@"},
		{"not allowed", "exit 1", "::warning title=flagos-trace::The comment could not be written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJob(t, map[string]string{"trace": pairs(t) + "/comp.kineto.json.gz", "binary": bin, "comment": "true"})
			if err := os.Mkdir(j.temp+"/bin", 0o700); err != nil {
				t.Fatal(err)
			}
			gh := "#!/bin/bash\necho \"$GH_TOKEN $*\" >> " + j.temp + "/calls\n" + c.gh + "\n"
			if err := os.WriteFile(j.temp+"/bin/gh", []byte(gh), 0o700); err != nil {
				t.Fatal(err)
			}
			if status := j.run(); status != 1 {
				t.Errorf("status %d: %s", status, j.out)
			}
			calls := j.read(j.temp + "/calls")
			if !strings.Contains(calls+j.out, c.wants) || !strings.Contains(calls, "secret api --paginate repos/owner/name/issues/7/comments") {
				t.Errorf("calls %s\n%s", calls, j.out)
			}
			if s := j.read(j.temp + "/flagos-trace-gate/comment.md"); !strings.HasPrefix(s, "<!-- flagos-trace gate -->\n## flagos-trace gate: regression") {
				t.Errorf("comment %q", s)
			}
		})
	}
}

// testGitLab runs the scripts of the example for GitLab.
func testGitLab(t *testing.T, bin string) {
	text, err := os.ReadFile("../ci/gitlab-example.yml")
	if err != nil {
		t.Fatal(err)
	}
	var jobs map[string]struct {
		Variables    map[string]string
		Before       []string `yaml:"before_script"`
		Script       []string
		AllowFailure struct {
			Codes []int `yaml:"exit_codes"`
		} `yaml:"allow_failure"`
		Artifacts struct {
			Paths   []string
			Reports map[string]string
		}
	}
	if err := yaml.Unmarshal(text, &jobs); err != nil {
		t.Fatal(err)
	}
	job := jobs["flagos-trace"]
	module := strings.Fields(newJob(t, nil).read("../go.mod"))[1]
	for _, c := range []struct {
		config string
		status int
	}{
		{"version: 1\nnew: " + pairs(t) + "/train.kineto.json.gz\nstructure: [{}]\n", 0},
		{"version: 1\nnew: " + pairs(t) + "/comp.kineto.json.gz\nstructure: [{}]\n", 1},
		{"version: 1\nnew: " + pairs(t) + "/comp.kineto.json.gz\nvalidate: {advisory: true}\n", 2},
		{"version: 1\nnew: none.json\nstructure: [{}]\n", 3},
	} {
		dir := t.TempDir()
		// go install fetches a release, which is no part of this.
		fake := "#!/bin/bash\ncase \"$*\" in\n'env GOPATH') echo " + dir + "/gopath;;\n'install " + module + "/cmd/flagos-trace@latest') mkdir -p " + dir + "/gopath/bin && cp " + bin + " " + dir + "/gopath/bin/;;\n*) exit 1;;\nesac\n"
		if err := errors.Join(os.WriteFile(dir+"/go", []byte(fake), 0o700), os.WriteFile(dir+"/gate.yaml", []byte(c.config), 0o600)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-eo", "pipefail", "-c", strings.Join(append(append([]string{}, job.Before...), job.Script...), "\n"))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CI=true", "GITLAB_CI=true", "GITHUB_ACTIONS=", "CI_PROJECT_DIR="+dir, "PATH="+dir+":/usr/bin:/bin")
		for k, v := range job.Variables {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		out, err := cmd.CombinedOutput()
		status := cmd.ProcessState.ExitCode()
		if status != c.status || err == nil != (status == 0) {
			t.Errorf("%q: status %d: %s", c.config, status, out)
		}
		for _, name := range append([]string{job.Artifacts.Reports["junit"], job.Artifacts.Reports["codequality"]}, job.Artifacts.Paths...) {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || name == "" || info.Size() == 0 {
				t.Errorf("%q: artifact %q: %v", c.config, name, err)
			}
		}
	}
	if len(job.AllowFailure.Codes) != 1 || job.AllowFailure.Codes[0] != 2 {
		t.Errorf("allowed to fail: %v", job.AllowFailure.Codes)
	}
}
