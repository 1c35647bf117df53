package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/record"
)

const openLong = `Serve a trace on this machine's loopback for the viewer at https://ui.perfetto.dev, and
open that in a browser. The viewer runs in the browser: the trace goes from here to
there and nowhere else. The command ends when the file was fetched, or with Ctrl-C.

The file is served as it is: a Kineto trace, plain or compressed with gzip, or what
flagos-trace export --format perfetto wrote. A trace that is compressed with zstd has to
be written as .gz first (flagos-trace cat), and a zip archive of several traces be
merged.

The viewer may only ask port 9001. On a machine without a browser, forward that port
to it and open the link where the browser is:

  ssh -L 9001:127.0.0.1:9001 machine flagos-trace open --no-browser trace.json.gz

--origin is for a viewer that is served elsewhere.

Exit status:
  0    the file was fetched
  2    the command line is wrong, or the file cannot be read
  125  the port cannot be had, or the file was not sent whole
  130  ended with Ctrl-C, or by a signal to terminate`

// viewer is where Perfetto's page is.
const viewer = "https://ui.perfetto.dev"

func newOpen() *cobra.Command {
	var origin string
	var port int
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "open [flags] trace",
		Short: "Show a trace in the browser, in Perfetto's viewer",
		Long:  openLong,
		Example: `  flagos-trace open trace.json.gz
  flagos-trace open --no-browser trace.pftrace`,
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return fmt.Errorf("--origin %s: it is of the form %s", origin, viewer)
		}
		if port < 0 || port > 65535 {
			return fmt.Errorf("--port %d: it is at most 65535", port)
		}
		s := &traceServer{path: args[0], origin: u.Scheme + "://" + u.Host, done: make(chan error, 1), errs: cmd.ErrOrStderr()}
		if err := s.check(); err != nil {
			return &failure{exitUsage, err}
		}
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return fail(fmt.Errorf("%w: another program has the port; end it (another flagos-trace open?), and try again", err))
		}
		link := s.link(listener.Addr().String())
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", link)
		ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM)
		defer stop()
		if !noBrowser {
			if err := browse(link); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "no browser could be started (%v): open the link yourself\n", err)
			}
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "serving %s until it was fetched; Ctrl-C ends that\n", record.Printable(args[0], false))
		return s.serve(ctx, listener)
	}
	f := cmd.Flags()
	f.BoolVar(&noBrowser, "no-browser", false, "only print the link")
	f.IntVar(&port, "port", 9001, "`port` to serve on, 0 for any; the viewer at "+viewer+" may ask 9001 only")
	f.StringVar(&origin, "origin", viewer, "`address` of the viewer")
	return cmd
}

// traceServer serves one file to one page.
type traceServer struct {
	path, origin, name string
	done               chan error
	errs               io.Writer
}

// check looks whether the file is one that can be served.
func (s *traceServer) check() error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file: write the trace to one first", s.path)
	case info.Size() == 0:
		return fmt.Errorf("%s is empty", s.path)
	}
	head := make([]byte, 4)
	if n, _ := f.ReadAt(head, 0); string(head[:n]) == string(zstdMagic) {
		return fmt.Errorf("%s is compressed with zstd, which the viewer does not read: flagos-trace cat %[1]s -o trace.json.gz, and open that", s.path)
	}
	s.name = filepath.Base(s.path)
	return nil
}

// link is the address that has the viewer fetch the file.
func (s *traceServer) link(address string) string {
	file := url.URL{Scheme: "http", Host: address, Path: "/" + s.name}
	return s.origin + "/#!/?url=" + url.QueryEscape(file.String())
}

// ServeHTTP serves the file, to pages of the viewer only.
func (s *traceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", s.origin)
	h.Set("Vary", "Origin")
	h.Set("Cache-Control", "no-cache")
	switch {
	case !isLoopback(r.Host):
		// A page that gave its own name this machine's address may ask without an Origin.
		http.Error(w, "this is for this machine, by the name of its loopback", http.StatusForbidden)
	case r.URL.Path != "/"+s.name:
		http.Error(w, "there is only /"+s.name, http.StatusNotFound)
	case r.Method == http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", "*")
		// A page of the public network asks before it fetches from this machine.
		h.Set("Access-Control-Allow-Private-Network", "true")
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "GET it", http.StatusMethodNotAllowed)
	case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != s.origin:
		http.Error(w, "this is for "+s.origin, http.StatusForbidden)
	default:
		s.send(w, r)
	}
}

// isLoopback reports whether the host of a request is this machine's loopback.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *traceServer) send(w http.ResponseWriter, r *http.Request) {
	f, err := os.Open(s.path)
	if err != nil {
		http.Error(w, "the file is gone", http.StatusInternalServerError)
		s.end(err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		http.Error(w, "the file is gone", http.StatusInternalServerError)
		s.end(err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	counted := &countingWriter{ResponseWriter: w}
	http.ServeContent(counted, r, s.name, time.Time{}, f)
	// What is fetched in part is fetched again.
	if r.Method == http.MethodGet && r.Header.Get("Range") == "" {
		if counted.n != info.Size() {
			fmt.Fprintln(s.errs, "the file was not fetched whole; still serving")
			return
		}
		s.end(nil)
	}
}

// end has serve end, once.
func (s *traceServer) end(err error) {
	select {
	case s.done <- err:
	default:
	}
}

type countingWriter struct {
	http.ResponseWriter
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	return n, err
}

// serve serves until the file was fetched, or the context is done.
func (s *traceServer) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	var err error
	select {
	case <-ctx.Done():
		server.Close()
		return &failure{128 + int(unix.SIGINT), errors.New("ended before the file was fetched")}
	case err = <-failed:
	case err = <-s.done:
	}
	// The last bytes are still on their way.
	last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return fail(errors.Join(err, server.Shutdown(last)))
}

// browse has the system's browser open an address.
func browse(link string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := exec.Command(program, link)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}
