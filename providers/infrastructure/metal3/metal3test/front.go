package metal3test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"time"
)

// A Call is a request to the API that came.
type Call struct {
	N      int    // from 1 on
	Method string // with its path: "PATCH /v1/nodes/m1"
	Query  string
	Status int // 0 until it is answered, and where no answer came
	Bytes  int // of the answer
	body   []byte
}

// Contains reports whether the text of the request has s in it.
func (c Call) Contains(s string) bool { return bytes.Contains(c.body, []byte(s)) }

// Changes reports whether the call may change something.
func (c Call) Changes() bool { return !strings.HasPrefix(c.Method, http.MethodGet+" ") }

// Calls are all that came since the start, or the last [Ironic.ResetCalls].
func (i *Ironic) Calls() []Call {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]Call, len(i.calls))
	for n, c := range i.calls {
		out[n] = *c
	}
	return out
}

// ResetCalls forgets what came.
func (i *Ironic) ResetCalls() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls = nil
}

// Watch has f be told of each request before it is done.
func (i *Ironic) Watch(f func(Call)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.watch = f
}

// A CallFault says what goes wrong with requests to the API.
type CallFault struct {
	Method  string // pattern for method and path: "PATCH /v1/nodes/*", "PUT *"; empty: all
	Text    string // what the text of the request contains
	Changes bool   // only calls that may change something
	Skip    int    // so many matching calls go well first
	Times   int    // so many go wrong then; 0: all

	Status  int           // this is answered, and nothing is done
	Message string        // with these words, as Ironic wraps them; default: those of the status
	Lose    bool          // it is done, and the connection ends without an answer
	Cut     bool          // the connection ends, and nothing is done
	Delay   time.Duration // it takes so much longer
	Do      func(Call)    // is called before anything is done
}

// callFault is one that is in force.
type callFault struct {
	CallFault
	seen, done int
	ended      bool
}

// FailCalls puts a fault of calls in force. The first that matches a call applies.
func (i *Ironic) FailCalls(f CallFault) *Injected {
	matches(f.Method, "")
	i.mu.Lock()
	defer i.mu.Unlock()
	in := &callFault{CallFault: f}
	i.callFaults = append(i.callFaults, in)
	return &Injected{i: i, done: &in.done, end: func() { in.ended = true }}
}

// callFault returns what goes wrong with a call. The lock is held.
func (i *Ironic) callFault(c Call) CallFault {
	for _, f := range i.callFaults {
		if f.ended || f.Changes && !c.Changes() || !matches(f.Method, c.Method) || !c.Contains(f.Text) {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times) {
			f.done++
			return f.CallFault
		}
	}
	return CallFault{}
}

// Injected is a fault that is in force.
type Injected struct {
	i    *Ironic
	done *int
	end  func()
}

// Done returns how many times it was met.
func (f *Injected) Done() int {
	f.i.mu.Lock()
	defer f.i.mu.Unlock()
	return *f.done
}

// End takes it back. What it holds goes on.
func (f *Injected) End() {
	f.i.mu.Lock()
	defer f.i.mu.Unlock()
	f.end()
}

// matches is path.Match where a star means slashes too, and an empty pattern all.
func matches(pattern, s string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(s, "/", "\x00"))
	if err != nil {
		panic("metal3test: pattern " + pattern + ": " + err.Error())
	}
	return pattern == "" || ok
}

// answer stands before Ironic's API: it counts, and has things go wrong.
func (i *Ironic) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who asked is gone
	}
	i.mu.Lock()
	kept := &Call{N: len(i.calls) + 1, Method: r.Method + " " + r.URL.Path, Query: r.URL.RawQuery, body: body}
	i.calls = append(i.calls, kept)
	call, f, watch := *kept, i.callFault(*kept), i.watch
	i.mu.Unlock()
	if watch != nil {
		watch(call)
	}
	if f.Do != nil {
		f.Do(call)
	}
	if f.Delay > 0 && !i.wait(r.Context(), f.Delay) || f.Cut {
		panic(http.ErrAbortHandler)
	}
	out := httptest.NewRecorder()
	if f.Status != 0 {
		refuse(out, f)
	} else {
		i.forward(out, r, body)
	}
	if f.Lose {
		panic(http.ErrAbortHandler)
	}
	i.mu.Lock()
	kept.Status, kept.Bytes = out.Code, out.Body.Len()
	i.mu.Unlock()
	for k, values := range out.Header() {
		w.Header()[k] = values
	}
	w.WriteHeader(out.Code)
	_, _ = w.Write(out.Body.Bytes()) // the other side may be gone
}

// refuse answers what f says, as Ironic wraps it.
// Source: Ironic, api/middleware/parsable_error.py.
func refuse(w http.ResponseWriter, f CallFault) {
	if f.Message == "" {
		f.Message = http.StatusText(f.Status)
	}
	inner, err := json.Marshal(map[string]any{"faultcode": "Server", "faultstring": f.Message, "debuginfo": nil})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error_message": string(inner)})
}

// forward asks Ironic, and answers 503 as a proxy does where it is away.
func (i *Ironic) forward(w http.ResponseWriter, r *http.Request, body []byte) {
	if i.double != nil {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		i.double.ServeHTTP(w, again)
		return
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", r.Host, ""
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	t := &http.Transport{DialContext: i.dial, DisableKeepAlives: true}
	resp, err := t.RoundTrip(out)
	if err != nil {
		http.Error(w, "No server is available to handle this request.", http.StatusServiceUnavailable)
		return
	}
	defer resp.Body.Close()
	for k, values := range resp.Header {
		w.Header()[k] = values
	}
	w.Header().Del("Content-Length")
	w.Header().Del("Connection")
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // a recorder takes all
}

// wait reports whether the time passed before who asked, or the Ironic, went.
func (i *Ironic) wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-i.ends.Done():
	}
	return false
}

// ask sends a request to Ironic itself, as the agent of a ramdisk does, and decodes the
// answer into out; nil: it does not matter.
func (i *Ironic) ask(ctx context.Context, method, target string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://ironic"+target, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.68")
	resp, err := (&http.Transport{DialContext: i.dial, DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		said, err := io.ReadAll(resp.Body)
		return errors.Join(fmt.Errorf("%s %s: %s: %s", method, target, resp.Status, said), err)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
