package vspheretest

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	vim25xml "github.com/vmware/govmomi/vim25/xml"
)

// A CallFault says which calls go wrong, and how. Empty fields match every call. Patterns
// are those of [path.Match], in which a star stands for slashes too.
type CallFault struct {
	Method  string // pattern: "CloneVM_Task", "RetrievePropertiesEx", "POST /rest/*"
	This    string // pattern for the id of the object: "vm-*"
	Text    string // what the text of the request contains
	Changes bool   // only calls that may change something
	Skip    int    // so many matching calls go well first
	Times   int    // so many go wrong then; 0: all

	Fault   types.BaseMethodFault // this is answered, and nothing is done
	Message string                // its words; default: those of vCenter
	Status  int                   // this is answered, and nothing is done
	Lose    bool                  // it is done, and the connection ends without an answer
	Cut     bool                  // the connection ends, and nothing is done
	Delay   time.Duration         // it takes so much longer
	Do      func(Call)            // is called before anything is done
}

// callFault is one that is in force.
type callFault struct {
	CallFault
	seen, done int
	ended      bool
}

// Injected is a fault that is in force.
type Injected struct {
	v    *VCenter
	call *callFault
	task *taskFault
}

// FailCalls puts a fault of calls in force. The first that matches a call applies.
func (v *VCenter) FailCalls(f CallFault) *Injected {
	matches(f.Method, "")
	v.mu.Lock()
	defer v.mu.Unlock()
	in := &callFault{CallFault: f}
	v.callFaults = append(v.callFaults, in)
	return &Injected{v: v, call: in}
}

// Done returns how many calls or tasks it met.
func (i *Injected) Done() int {
	i.v.mu.Lock()
	defer i.v.mu.Unlock()
	if i.call != nil {
		return i.call.done
	}
	return i.task.done
}

// End takes it back. Tasks that it holds go on.
func (i *Injected) End() {
	i.v.mu.Lock()
	defer i.v.mu.Unlock()
	if i.call != nil {
		i.call.ended = true
		return
	}
	i.task.end()
}

// callFault returns what goes wrong with a call. The lock is held.
func (v *VCenter) callFault(c Call) CallFault {
	for _, f := range v.callFaults {
		if f.ended || f.Changes && !c.Changes() || !matches(f.Method, c.Method) || !matches(f.This, c.This) || !c.Contains(f.Text) {
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

// refuse answers what f says instead of what vCenter would.
func (v *VCenter) refuse(w http.ResponseWriter, f CallFault) {
	if f.Fault == nil {
		http.Error(w, http.StatusText(f.Status), f.Status)
		return
	}
	if f.Message == "" {
		f.Message = Words(f.Fault)
	}
	kind := reflect.TypeOf(f.Fault).Elem().Name()
	detail, err := vim25xml.Marshal(f.Fault)
	if err != nil {
		panic(fmt.Sprintf("vspheretest: fault %s: %v", kind, err))
	}
	_, inner, _ := strings.Cut(string(detail), ">")
	inner = strings.TrimSuffix(inner, "</"+kind+">")
	var words strings.Builder
	_ = xml.EscapeText(&words, []byte(f.Message))
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>%s</faultstring><detail>`+
		`<%sFault xmlns="urn:vim25" xsi:type="%s">%s</%sFault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`,
		words.String(), kind, kind, inner, kind)
}
