package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// linkWriter passes the first line that is written on.
type linkWriter struct {
	once sync.Once
	c    chan string
}

func (w *linkWriter) Write(b []byte) (int, error) {
	w.once.Do(func() { w.c <- strings.TrimSpace(string(b)) })
	return len(b), nil
}

// TestOpen fetches a trace as the viewer's page does: it asks first, and then gets.
func TestOpen(t *testing.T) {
	const trace = "../../testdata/pairs/basic.kineto.json.gz"
	want, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	out := &linkWriter{c: make(chan string, 1)}
	status := make(chan int, 1)
	var errs bytes.Buffer
	go func() { status <- run([]string{"open", "--no-browser", "--port", "0", trace}, out, &errs) }()
	link := <-out.c
	address, err := url.QueryUnescape(strings.TrimPrefix(link, viewer+"/#!/?url="))
	if err != nil || !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.HasSuffix(address, "/basic.kineto.json.gz") {
		t.Fatalf("link %q", link)
	}
	host := ""
	ask := func(method, address, origin string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if method == http.MethodOptions {
			r.Header.Set("Access-Control-Request-Private-Network", "true")
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	for _, c := range []struct {
		method, path, origin string
		status               int
	}{
		{http.MethodOptions, "", viewer, http.StatusNoContent},
		{http.MethodHead, "", viewer, http.StatusOK},
		{http.MethodGet, "/../other", viewer, http.StatusNotFound},
		{http.MethodPost, "", viewer, http.StatusMethodNotAllowed},
		{http.MethodGet, "", "https://example.org", http.StatusForbidden},
	} {
		resp := ask(c.method, address+c.path, c.origin)
		resp.Body.Close()
		if resp.StatusCode != c.status || resp.Header.Get("Access-Control-Allow-Origin") != viewer {
			t.Errorf("%s %s of %s: status %d, not %d; %v", c.method, c.path, c.origin, resp.StatusCode, c.status, resp.Header)
		}
		if c.method == http.MethodOptions && resp.Header.Get("Access-Control-Allow-Private-Network") != "true" {
			t.Error("a page may not fetch from this machine")
		}
		select {
		case s := <-status:
			t.Fatalf("%s %s ended the command with status %d: %s", c.method, c.path, s, errs.String())
		default:
		}
	}
	for name, want := range map[string]int{"example.org:9001": http.StatusForbidden, "example.org": http.StatusForbidden, "localhost:9001": http.StatusOK, "[::1]:9001": http.StatusOK} {
		host = name
		resp := ask(http.MethodHead, address, "")
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("asked as %s: status %d, not %d", name, resp.StatusCode, want)
		}
	}
	host = ""
	resp := ask(http.MethodGet, address, viewer)
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes were fetched of %d: %v", len(got), len(want), err)
	}
	if resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("headers %v", resp.Header)
	}
	select {
	case s := <-status:
		if s != exitOK {
			t.Errorf("status %d: %s", s, errs.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the command goes on after the file was fetched")
	}
}

// TestOpenStop: the command ends before the file was fetched.
func TestOpenStop(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	s := &traceServer{path: "open_test.go", origin: viewer, name: "open_test.go", done: make(chan error, 1)}
	if err := s.serve(ctx, listener); err == nil || !strings.Contains(err.Error(), "before the file was fetched") {
		t.Errorf("error %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	empty, zst := filepath.Join(dir, "empty.json"), filepath.Join(dir, "a.json.zst")
	for path, text := range map[string]string{empty: "", zst: "\x28\xb5\x2f\xfd...."} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for _, c := range []struct {
		line   []string
		status int
		want   string
	}{
		{[]string{filepath.Join(dir, "missing")}, exitUsage, "missing"},
		{[]string{dir}, exitUsage, "no regular file"},
		{[]string{empty}, exitUsage, "empty"},
		{[]string{zst}, exitUsage, "flagos-trace cat"},
		{[]string{"open_test.go", "--port", "70000"}, exitUsage, "65535"},
		{[]string{"open_test.go", "--origin", "perfetto"}, exitUsage, "--origin perfetto"},
		{[]string{"open_test.go", "--port", port}, exitFailure, "another program has the port"},
	} {
		var out, errs bytes.Buffer
		if status := run(append([]string{"open", "--no-browser"}, c.line...), &out, &errs); status != c.status || !strings.Contains(errs.String(), c.want) {
			t.Errorf("open %v: status %d, not %d: %s", c.line, status, c.status, errs.String())
		}
	}
}
