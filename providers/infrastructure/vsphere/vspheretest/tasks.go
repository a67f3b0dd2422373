package vspheretest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A TaskFault says which tasks of machines go wrong, and how: the call that begins one is
// answered. Empty fields match every task.
type TaskFault struct {
	Task  string // pattern: "CloneVM_Task", "PowerOnVM_Task", "Destroy_Task", …; "ShutdownGuest" has no task, and can be held
	Name  string // pattern for the name of the machine; of a clone it is that of the new one
	Skip  int    // so many matching tasks go well first
	Times int    // so many go wrong then; 0: all

	Hold    bool                  // it runs until the fault ends, or is released
	Queue   bool                  // it waits in the queue until then
	Fault   types.BaseMethodFault // it ends so; a clone that is held leaves nothing then
	Message string                // its words; default: those of vCenter
}

// taskFault is one that is in force.
type taskFault struct {
	TaskFault
	seen, done int
	met        chan struct{} // is closed when it meets a task
	released   chan struct{}
	ended      bool
}

func (f *taskFault) end() {
	if !f.ended {
		f.ended = true
		close(f.released)
	}
}

// FailTasks puts a fault of tasks in force. The first that matches a task applies.
func (v *VCenter) FailTasks(f TaskFault) *Injected {
	matches(f.Task, "")
	v.mu.Lock()
	defer v.mu.Unlock()
	in := &taskFault{TaskFault: f, met: make(chan struct{}), released: make(chan struct{})}
	v.taskFaults = append(v.taskFaults, in)
	return &Injected{v: v, task: in}
}

// Release lets tasks go on that are held; later ones are held again.
func (i *Injected) Release() {
	i.v.mu.Lock()
	defer i.v.mu.Unlock()
	if !i.task.ended {
		close(i.task.released)
		i.task.released = make(chan struct{})
	}
}

// A fate is what a fault has for one task.
type fate struct {
	TaskFault
	from     *taskFault
	released <-chan struct{}
}

// fate returns what goes wrong with a task; nil: nothing, as with all that this package
// does itself, which has no user.
func (v *VCenter) fate(method, name, user string) *fate {
	if user == "" {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, f := range v.taskFaults {
		if f.ended || !matches(f.Task, method) || !matches(f.Name, name) {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times) {
			return &fate{f.TaskFault, f, f.released}
		}
	}
	return nil
}

// waitsFor reports whether a task is to go on, after what it waits for; not, when the
// vCenter ends.
func (v *VCenter) waitsFor(f *fate) bool {
	v.meets(f)
	select {
	case <-f.released:
		return true
	case <-v.closed:
		return false
	}
}

// meets tells who waits for a fault that it came to it.
func (v *VCenter) meets(f *fate) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f.from.done++
	close(f.from.met)
	f.from.met = make(chan struct{})
}

// Await waits until the fault met n tasks: those that it holds are held by then.
func (i *Injected) Await(ctx context.Context, n int) error {
	for {
		i.v.mu.Lock()
		done, met := i.task.done, i.task.met
		i.v.mu.Unlock()
		if done >= n {
			return nil
		}
		select {
		case <-met:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// taskIDs are beyond those that vcsim gives.
var taskIDs atomic.Int64

// A failure is a fault with words of its own.
type failure struct {
	fault types.BaseMethodFault
	words string
}

// fails is a failure with vCenter's words.
func fails(f types.BaseMethodFault) *failure { return &failure{f, Words(f)} }

// start begins a task of an object, whose lock is held, beside vcsim's own: its lock is
// free while the task runs.
func (v *VCenter) start(o mo.Entity, method, user string, f *fate, run func(*vcsim.Context) (types.AnyType, *failure)) types.ManagedObjectReference {
	t := vcsim.CreateTask(o, method, nil)
	t.Self = types.ManagedObjectReference{Type: "Task", Value: fmt.Sprintf("task-%d", 1_000_000+taskIDs.Add(1))}
	t.Info.Key, t.Info.Task = t.Self.Value, t.Self
	t.Info.Name, t.Info.DescriptionId = method, taskIDsOf[method]
	t.Info.EntityName, t.Info.Reason = o.Entity().Name, &types.TaskReasonUser{UserName: user}
	ref := t.Self
	v.Registry().Put(t)
	v.running.Go(func() {
		ctx := v.Context()
		update := func(changes ...types.PropertyChange) { v.Registry().AtomicUpdate(ctx, t, changes) }
		if f != nil && f.Queue && !v.waitsFor(f) {
			return
		}
		update(types.PropertyChange{Name: "info.startTime", Val: time.Now()}, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateRunning})
		res, failed := run(ctx)
		if failed == nil {
			update(types.PropertyChange{Name: "info.completeTime", Val: time.Now()}, types.PropertyChange{Name: "info.result", Val: res},
				types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateSuccess})
			return
		}
		update(types.PropertyChange{Name: "info.completeTime", Val: time.Now()},
			types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{Fault: failed.fault, LocalizedMessage: failed.words}},
			types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateError})
	})
	return ref
}

// taskIDsOf are the ids in vCenter's catalogue of tasks, by method.
var taskIDsOf = map[string]string{
	"CloneVM_Task": "VirtualMachine.clone", "ReconfigVM_Task": "VirtualMachine.reconfigure", "PowerOnVM_Task": "VirtualMachine.powerOn",
	"PowerOffVM_Task": "VirtualMachine.powerOff", "Destroy_Task": "VirtualMachine.destroy", "UpgradeVM_Task": "VirtualMachine.upgradeVirtualHardware",
	"SuspendVM_Task": "VirtualMachine.suspend", "ResetVM_Task": "VirtualMachine.reset",
}

// finish waits for a task of vcsim, and returns how it ended.
func (v *VCenter) finish(ref types.ManagedObjectReference) (types.AnyType, *failure) {
	t := v.Registry().Get(ref).(*vcsim.Task)
	done := make(chan struct{})
	v.mu.Lock()
	v.waits[ref] = done
	v.mu.Unlock()
	own := v.Context()
	var info types.TaskInfo
	look := func() bool {
		v.Registry().WithLock(own, t, func() { info = t.Info })
		return info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError
	}
	if !look() {
		select {
		case <-done:
			look()
		case <-v.closed:
		}
	}
	v.taskDone(ref)
	if info.Error != nil {
		return nil, fails(info.Error.Fault)
	}
	return info.Result, nil
}

// taskDone tells who waits for a task.
func (v *VCenter) taskDone(ref types.ManagedObjectReference) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if done := v.waits[ref]; done != nil {
		close(done)
		delete(v.waits, ref)
	}
}
