package vcenter

import (
	"context"
	"encoding/xml"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// A Task is what vCenter does, or did, about a request.
type Task struct {
	Ref types.ManagedObjectReference
	// What is the operation: "VirtualMachine.clone".
	What string
	// Entity is the object of the task: of a clone the template.
	Entity types.ManagedObjectReference
	// Token is the token of its request; empty if it is not known. See Clone.
	Token  string
	State  types.TaskInfoState
	Result types.ManagedObjectReference // the created object; zero if there is none
	Queued time.Time                    // by vCenter's clock, as Ended
	Ended  time.Time
	Err    error // *fleet.Error, where State is error
}

// Running reports whether t has not ended.
func (t Task) Running() bool {
	return t.State == types.TaskInfoStateQueued || t.State == types.TaskInfoStateRunning
}

// A TaskError is why a task failed.
type TaskError struct {
	Cause   types.BaseMethodFault
	Message string // localized
}

func (e *TaskError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return FaultName(e.Cause)
}

// Fault returns the cause, as errors of govmomi do.
func (e *TaskError) Fault() types.BaseMethodFault { return e.Cause }

func taskOf(info types.TaskInfo, token string) Task {
	t := Task{Ref: info.Task, What: info.DescriptionId, State: info.State, Queued: info.QueueTime, Token: token}
	if t.Token == "" {
		t.Token = info.ActivationId
	}
	if info.Entity != nil {
		t.Entity = *info.Entity
	}
	if info.CompleteTime != nil {
		t.Ended = *info.CompleteTime
	}
	if ref, ok := info.Result.(types.ManagedObjectReference); ok {
		t.Result = ref
	}
	if info.State == types.TaskInfoStateError {
		e := &TaskError{Cause: &types.MethodFault{}, Message: "vCenter does not say why"}
		if info.Error != nil && info.Error.Fault != nil {
			e = &TaskError{Cause: info.Error.Fault, Message: info.Error.LocalizedMessage}
		}
		t.Err = Wrap("finish task "+t.What+" of vCenter", e)
	}
	return t
}

// activationID is an element of the header of a SOAP request, which vCenter notes in the
// task that it makes of it.
// Source: vSphere Web Services API, TaskInfo.activationId.
type activationID struct {
	XMLName xml.Name `xml:"activationId"`
	ID      string   `xml:",chardata"`
}

// withToken returns a context for a request whose task is to be known by token, also to
// another agent: which clone it is that runs, or failed, before there is a VM with tags.
func (c *Client) withToken(ctx context.Context, vim *vim25.Client, token string) context.Context {
	if token == "" {
		return ctx
	}
	return vim.Client.WithHeader(ctx, soap.Header{ID: token, Security: activationID{ID: token}})
}

// forgetTask is after how long a task that this process asked for is in no look any more.
const forgetTask = time.Hour

// asked has the tokens of tasks that this process asked for, for vCenters that do not
// tell them.
type asked struct {
	mu     sync.Mutex
	tokens map[types.ManagedObjectReference]askedFor
}

type askedFor struct {
	token string
	at    time.Time
}

func (a *asked) note(task types.ManagedObjectReference, token string) {
	if token == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokens == nil {
		a.tokens = make(map[types.ManagedObjectReference]askedFor)
	}
	for ref, t := range a.tokens {
		if time.Since(t.at) > forgetTask {
			delete(a.tokens, ref)
		}
	}
	a.tokens[task] = askedFor{token, time.Now()}
}

func (a *asked) token(task types.ManagedObjectReference) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens[task].token
}
