package vspheretest

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
)

// A Call is a request that came.
type Call struct {
	N int // from 1 on

	// Method is that of SOAP, "CloneVM_Task", or of REST with its path and action,
	// "POST /rest/com/vmware/cis/session".
	Method string
	// This is the id of the object that was asked, "vm-42"; "" for REST.
	This string

	In, Out int // bytes of the bodies; Out is 0 until it is answered
	Fault   bool
	body    []byte
}

// Contains reports whether the text of the request has s in it.
func (c Call) Contains(s string) bool { return bytes.Contains(c.body, []byte(s)) }

// reads are methods that change nothing that others see, by their beginnings.
var reads = []string{
	"Retrieve", "ContinueRetrieve", "CancelRetrieve", "WaitForUpdates", "CancelWaitForUpdates", "Login", "Logout", "SessionIsActive",
	"Find", "Query", "Current", "CreateFilter", "CreatePropertyCollector", "DestroyProperty", "CreateContainerView", "DestroyView",
	"HasPrivilege", "HasUserPrivilege", "FetchUserPrivilege", "CreateCollectorForTasks", "ReadNext", "ReadPrevious", "RewindCollector",
	"ResetCollector", "DestroyCollector", "PbmRetrieve", "PbmQuery", "PbmCheck", "PbmFetch", "CheckCompatibility", "Validate",
}

// Changes reports whether the call may change something.
func (c Call) Changes() bool {
	verb, rest, isREST := strings.Cut(c.Method, " ")
	if isREST {
		session := strings.HasSuffix(rest, "/session")
		asks := strings.Contains(rest, "action=list") || strings.Contains(rest, "action=find") || strings.Contains(rest, "action=get") || strings.Contains(rest, "action=filter")
		return verb != http.MethodGet && !session && !asks
	}
	for _, r := range reads {
		if strings.HasPrefix(c.Method, r) {
			return false
		}
	}
	return true
}

// Calls are all that came since the start, or the last [VCenter.ResetCalls].
func (v *VCenter) Calls() []Call {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make([]Call, len(v.calls))
	for i, c := range v.calls {
		out[i] = *c
	}
	return out
}

// Count returns how many calls came whose method matches a pattern of [path.Match], and
// the bytes of their requests and answers.
func (v *VCenter) Count(pattern string) (calls, in, out int) {
	for _, c := range v.Calls() {
		if matches(pattern, c.Method) {
			calls, in, out = calls+1, in+c.In, out+c.Out
		}
	}
	return calls, in, out
}

// ResetCalls forgets what came.
func (v *VCenter) ResetCalls() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = nil
}

// matches is path.Match where a star means slashes too, and an empty pattern all.
func matches(pattern, s string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(s, "/", "\x00"))
	if err != nil {
		panic("vspheretest: pattern " + pattern + ": " + err.Error())
	}
	return pattern == "" || ok
}

// answer stands before vcsim: it counts, and has things go wrong.
func (v *VCenter) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who asked is gone
	}
	call := read(r, body)
	v.mu.Lock()
	call.N = len(v.calls) + 1
	kept := call
	v.calls = append(v.calls, &kept)
	f := v.callFault(call)
	v.mu.Unlock()

	if f.Do != nil {
		f.Do(call)
	}
	if f.Delay > 0 && !v.wait(r, f.Delay) || f.Cut {
		panic(http.ErrAbortHandler)
	}
	if f.Status != 0 || f.Fault != nil {
		v.refuse(w, f)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	out := newRecorder()
	if !v.forbidsService(out, r, call) && !v.admit(out, r, call) {
		v.model.Service.ServeMux.ServeHTTP(out, r)
	}
	if f.Lose {
		panic(http.ErrAbortHandler)
	}
	text := withWords(out.body.Bytes(), r.URL.Path == vim25.Path)
	v.mu.Lock()
	kept.Out, kept.Fault = len(text), out.code >= http.StatusBadRequest
	v.mu.Unlock()
	for k, values := range out.header {
		w.Header()[k] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(out.code)
	_, _ = w.Write(text) // the other side may be gone
}

// wait reports whether the time passed before who asked, or the vCenter, went.
func (v *VCenter) wait(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-v.closed:
	}
	return false
}

// read tells what a request is.
func read(r *http.Request, body []byte) Call {
	c := Call{In: len(body), body: body}
	if !strings.HasPrefix(r.URL.Path, vim25.Path) && !strings.HasPrefix(r.URL.Path, "/pbm") {
		c.Method = r.Method + " " + r.URL.Path
		if q := r.URL.Query(); q.Get("~action")+q.Get("action") != "" {
			c.Method += "?action=" + q.Get("~action") + q.Get("action")
		}
		return c
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	inBody := false
	for {
		token, err := d.RawToken()
		if err != nil {
			return c
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
		case c.Method != "":
			if text, err := d.RawToken(); err == nil && start.Name.Local == "_this" {
				if id, ok := text.(xml.CharData); ok {
					c.This = string(id)
				}
			}
			return c
		case inBody:
			c.Method = start.Name.Local
		case start.Name.Local == "Body":
			inBody = true
		}
	}
}

// recorder keeps an answer until it is known whether it arrives.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: make(http.Header), code: http.StatusOK} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
