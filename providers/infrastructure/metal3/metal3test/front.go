package metal3test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/providers/driver/transport/transporttest"
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

// A Front stands before an Ironic's API: it counts, and has things go wrong.
type Front struct {
	i   *Ironic
	api *httptest.Server

	mu         sync.Mutex
	calls      []*Call
	watch      func(Call)
	callFaults []*callFault
}

// FrontFor returns a further front of i, until t ends. Tests that run side by side on one Ironic
// have one each: what comes through it is all of that test, and so is what it has go wrong.
func (i *Ironic) FrontFor(t testing.TB) *Front {
	t.Helper()
	f, err := i.newFront("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

// newFront returns one that listens at an address; empty: any.
func (i *Ironic) newFront(address string) (*Front, error) {
	f := &Front{i: i}
	var err error
	if f.api, err = serve(address, f.answer); err != nil {
		return nil, err
	}
	own, err := transporttest.Certificate("ironic", f.api.Listener.Addr().(*net.TCPAddr).IP)
	if err != nil {
		return nil, errors.Join(err, f.api.Listener.Close())
	}
	f.api.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	f.api.StartTLS()
	return f, nil
}

func (f *Front) close() {
	f.api.CloseClientConnections()
	f.api.Close()
}

// URL is the endpoint of the API, without /v1.
func (f *Front) URL() string { return f.api.URL }

// CA is the certificate, in PEM, that the API is signed with.
func (f *Front) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.api.Certificate().Raw})
}

// HTTP is a client that trusts the API.
func (f *Front) HTTP() *http.Client { return f.api.Client() }

// Calls are all that came since the start, or the last [Front.ResetCalls].
func (f *Front) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Call, len(f.calls))
	for n, c := range f.calls {
		out[n] = *c
	}
	return out
}

// ResetCalls forgets what came.
func (f *Front) ResetCalls() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// Watch has told be called with each request before it is done.
func (f *Front) Watch(told func(Call)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch = told
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
func (f *Front) FailCalls(fault CallFault) *Injected {
	matches(fault.Method, "")
	f.mu.Lock()
	defer f.mu.Unlock()
	in := &callFault{CallFault: fault}
	f.callFaults = append(f.callFaults, in)
	return &Injected{mu: &f.mu, done: &in.done, end: func() { in.ended = true }}
}

// callFault returns what goes wrong with a call. The lock is held.
func (f *Front) callFault(c Call) CallFault {
	for _, in := range f.callFaults {
		if in.ended || in.Changes && !c.Changes() || !matches(in.Method, c.Method) || !c.Contains(in.Text) {
			continue
		}
		in.seen++
		if in.seen > in.Skip && (in.Times == 0 || in.seen <= in.Skip+in.Times) {
			in.done++
			return in.CallFault
		}
	}
	return CallFault{}
}

// Injected is a fault that is in force.
type Injected struct {
	mu   sync.Locker
	done *int
	end  func()
}

// Done returns how many times it was met.
func (f *Injected) Done() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.done
}

// End takes it back. What it holds goes on.
func (f *Injected) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
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

// answer counts a request, injects the planned failures, and forwards the rest.
func (f *Front) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who asked is gone
	}
	f.mu.Lock()
	kept := &Call{N: len(f.calls) + 1, Method: r.Method + " " + r.URL.Path, Query: r.URL.RawQuery, body: body}
	f.calls = append(f.calls, kept)
	call, fault, watch := *kept, f.callFault(*kept), f.watch
	f.mu.Unlock()
	if watch != nil {
		watch(call)
	}
	if fault.Do != nil {
		fault.Do(call)
	}
	if fault.Delay > 0 && !f.i.wait(r.Context(), fault.Delay) || fault.Cut {
		panic(http.ErrAbortHandler)
	}
	out := httptest.NewRecorder()
	if fault.Status != 0 {
		refuse(out, fault)
	} else {
		f.i.forward(out, r, body)
	}
	if fault.Lose {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	kept.Status, kept.Bytes = out.Code, out.Body.Len()
	f.mu.Unlock()
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

// forward asks Ironic, and answers 503, as a proxy does, if Ironic is away.
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
