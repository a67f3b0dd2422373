package vcenter

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/driver/transport"
)

// A saidError is what vCenter said, in one line, with the error that it was.
type saidError struct {
	text string
	err  error
}

func (e *saidError) Error() string { return e.text }
func (e *saidError) Unwrap() error { return e.err }

// explain returns what vCenter said, with what to do where that is known.
func explain(err error) error {
	if f := FaultOf(err); f != nil {
		return &saidError{faultText(err, f), err}
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*certificateError](err); ok {
		return e
	}
	return transport.Plain(err)
}

// faultText is the name of the fault and its message, with what vCenter adds to it.
func faultText(err error, f types.BaseMethodFault) string {
	name, words := FaultName(f), ""
	var soapErr error
	if e, ok := errors.AsType[*TaskError](err); ok {
		words = e.Message
	} else if soapErr = soapFault(err); soapErr != nil {
		words = soap.ToSoapFault(soapErr).String
	}
	if words == name || strings.TrimPrefix(words, "*types.") == name {
		words = ""
	}
	out := []string{name}
	if words != "" {
		out = append(out, strings.TrimSpace(words))
	}
	m := f.GetMethodFault()
	if m == nil {
		m = &types.MethodFault{}
	}
	for _, add := range m.FaultMessage {
		if add.Message != "" && !strings.Contains(words, add.Message) {
			out = append(out, add.Message)
		}
	}
	if m.FaultCause != nil && m.FaultCause.LocalizedMessage != "" && !strings.Contains(words, m.FaultCause.LocalizedMessage) {
		out = append(out, m.FaultCause.LocalizedMessage)
	}
	return strings.Join(out, ": ") + faultDetail(f)
}

// faultDetail is what a fault says in fields and not in its message, or what to do about it.
func faultDetail(f types.BaseMethodFault) string {
	switch f := f.(type) {
	case *types.NoPermission:
		return permissions(f)
	case *types.InvalidArgument:
		if f.InvalidProperty != "" {
			return " (" + f.InvalidProperty + ")"
		}
	}
	if next := ruleOf(f).next; next != "" {
		return " (" + next + ")"
	}
	return ""
}

// permissions names the privileges that the user lacks.
func permissions(f *types.NoPermission) string {
	var lacks []string
	add := func(entity *types.ManagedObjectReference, privileges ...string) {
		on := ""
		if entity != nil {
			on = " on " + entity.Type + " " + entity.Value
		}
		for _, p := range privileges {
			if p != "" {
				lacks = append(lacks, p+on)
			}
		}
	}
	for _, m := range f.MissingPrivileges {
		add(&m.Entity, m.PrivilegeIds...)
	}
	if len(lacks) == 0 {
		add(f.Object, f.PrivilegeId)
	}
	if len(lacks) == 0 {
		return " (the user lacks a privilege)"
	}
	return fmt.Sprintf(" (the user lacks %s)", strings.Join(lacks, ", "))
}

// FaultName is the name of f in vCenter's API: "DuplicateName".
func FaultName(f types.BaseMethodFault) string {
	t := reflect.TypeOf(f)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// soapFault finds the error of a request that vCenter answered with a fault.
func soapFault(err error) error {
	for err != nil {
		if soap.IsSoapFault(err) {
			return err
		}
		err = errors.Unwrap(err)
	}
	return nil
}

// restMessage finds the message of an error of a REST service, of both styles.
func restMessage(object map[string]json.RawMessage) string {
	type said struct {
		Messages []struct {
			Text string `json:"default_message"`
		} `json:"messages"`
	}
	var whole struct {
		said
		Value said `json:"value"`
	}
	data, err := json.Marshal(object)
	if err != nil || json.Unmarshal(data, &whole) != nil {
		return ""
	}
	var out []string
	for _, m := range append(whole.Messages, whole.Value.Messages...) {
		if m.Text != "" {
			out = append(out, m.Text)
		}
	}
	return strings.Join(out, "; ")
}
