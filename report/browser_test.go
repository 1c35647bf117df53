package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a browser may take for anything: it is a guard against a hang,
// and measures nothing.
const patience = 2 * time.Minute

// browser is a headless Chromium spoken to over its debugging pipe, and one page in it.
type browser struct {
	t       testing.TB
	cmd     *exec.Cmd
	in      *os.File
	stderr  bytes.Buffer
	session string
	next    int

	lock     sync.Mutex
	answers  map[int]chan message
	troubles []string // what the page complained about
	requests []string // what the page asked for
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// newBrowser starts a browser, or skips the test where there is none.
func newBrowser(t testing.TB) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here: the page was not opened in a browser")
	}
	toR, toW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromR, fromW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, in: toW, answers: map[int]chan message{}}
	b.cmd = exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	b.cmd.ExtraFiles = []*os.File{toR, fromW} // 3 and 4
	b.cmd.Stderr = &b.stderr
	if err := b.cmd.Start(); err != nil {
		t.Skipf("%s does not start: %v", path, err)
	}
	toR.Close()
	fromW.Close()
	gone := make(chan struct{})
	go func() { b.listen(fromR); close(gone) }()
	t.Cleanup(func() {
		b.call("Browser.close", nil, nil)
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			b.cmd.Process.Kill()
		}
		b.cmd.Wait()
		toW.Close()
		fromR.Close()
	})
	var target struct{ TargetID string }
	b.must("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.must(domain+".enable", nil, nil)
	}
	b.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1440, "height": 1000, "deviceScaleFactor": 1, "mobile": false}, nil)
	return b
}

// listen takes what the browser says until it ends.
func (b *browser) listen(from *os.File) {
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			b.lock.Lock()
			for _, c := range b.answers {
				close(c)
			}
			b.answers = nil
			b.lock.Unlock()
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		b.lock.Lock()
		switch m.Method {
		case "":
			if c := b.answers[m.ID]; c != nil {
				c <- m
				delete(b.answers, m.ID)
			}
		case "Runtime.exceptionThrown", "Log.entryAdded":
			b.troubles = append(b.troubles, string(m.Params))
		case "Runtime.consoleAPICalled":
			b.troubles = append(b.troubles, string(m.Params))
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			json.Unmarshal(m.Params, &p)
			b.requests = append(b.requests, p.Request.URL)
		}
		b.lock.Unlock()
	}
}

// call calls a method of the protocol.
func (b *browser) call(method string, params, result any) error {
	b.lock.Lock()
	if b.answers == nil {
		b.lock.Unlock()
		return fmt.Errorf("%s: the browser has ended: %s", method, b.stderr.String())
	}
	b.next++
	id := b.next
	c := make(chan message, 1)
	b.answers[id] = c
	b.lock.Unlock()
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case m, ok := <-c:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser has ended", method)
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer", method)
	}
}

func (b *browser) must(method string, params, result any) {
	b.t.Helper()
	if err := b.call(method, params, result); err != nil {
		b.t.Fatal(err)
	}
}

// eval evaluates an expression in the page and decodes what it is.
func (b *browser) eval(expression string, into any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	b.must("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails.Exception.Description)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(r.Result.Value, into); err != nil {
		b.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
	}
}

// open opens a page and waits until its script has run.
func (b *browser) open(path string) {
	b.t.Helper()
	b.lock.Lock()
	b.troubles, b.requests = nil, nil
	b.lock.Unlock()
	b.must("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	b.wait(fmt.Sprintf(`decodeURI(location.pathname) === %q && document.documentElement && document.documentElement.dataset.ready !== undefined`, path))
}

// wait waits until an expression is true.
func (b *browser) wait(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var ok bool
		if b.eval("!!("+expression+")", &ok); ok {
			return
		}
		if c := b.complaints(); len(c) > 0 {
			b.t.Fatalf("the page complains: %v", c)
		}
		if time.Now().After(end) {
			b.t.Fatalf("never came true: %s", expression)
		}
	}
}

func (b *browser) complaints() []string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return append([]string{}, b.troubles...)
}

// key presses a key: a letter, or one with a name.
func (b *browser) key(key string) {
	b.t.Helper()
	p := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		p["text"] = key
	}
	b.must("Input.dispatchKeyEvent", p, nil)
	b.must("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// mouse does something with the first button at a place of the window.
func (b *browser) mouse(kind string, x, y float64) {
	b.t.Helper()
	p := map[string]any{"type": kind, "x": x, "y": y, "clickCount": 1, "button": "left"}
	if kind == "mouseMoved" {
		p["buttons"] = 1
	}
	b.must("Input.dispatchMouseEvent", p, nil)
}

// box is where an element is, after it was brought into sight.
func (b *browser) box(selector string) (r struct{ X, Y, Width, Height float64 }) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({ block: "center" }); const r = e.getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width, Height: r.height }; })()`, selector), &r)
	return r
}
