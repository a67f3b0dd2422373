package vcenter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/driver/snapshot"
)

// How soon a watch that broke off is begun again.
const (
	firstRest = time.Second // doubled each time
	lastRest  = time.Minute
)

// watchedPaths are what of a VM Watch tells changes of: what a machine is and where it is
// reached, and nothing that changes all the time.
func watchedPaths() []string {
	return []string{"runtime.powerState", "runtime.connectionState", "guest.toolsRunningStatus", "guest.ipAddress"}
}

// Watch calls changed until ctx ends: for the owner of a VM whose power, connection or address
// changed or that went, and for what owner makes of the token of a task that ended; false: it
// is of no interest. It follows the VMs and tasks that the latest look shows. vCenter holds
// the answer back until something changes: that is one request a minute while nothing does,
// however many VMs there are. What happens while it is not reached is lost: the next look
// shows it.
func (c *Client) Watch(ctx context.Context, owner func(token string) (snapshot.Owner, bool), changed func(snapshot.Owner)) error {
	rest, since := firstRest, subjects{}
	for {
		l, next := c.latestLook()
		if what := since.of(l, owner); len(what) > 0 {
			err := c.follow(ctx, l, what, owner, changed)
			if o, ok := since.gone(err); ok {
				changed(o)
				continue
			}
			if err == nil {
				rest = firstRest
				continue
			}
			c.o.Log.Debug("watch of a vCenter interrupted", "server", c.Server(), "error", err)
			next = nil
		}
		timer := time.NewTimer(rest)
		if next != nil {
			timer.Stop()
		} else {
			rest = min(2*rest, lastRest)
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-next:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// subjects are the followed objects since an observation, with their last reported state.
type subjects struct {
	look *Look
	all  map[Ref]subject
}

// of returns those of l.
func (s *subjects) of(l *Look, owner func(string) (snapshot.Owner, bool)) map[Ref]subject {
	if s.look != l {
		*s = subjects{look: l, all: followed(l, owner)}
	}
	return s.all
}

// gone takes away what went, if err says so: a filter cannot be of it. It returns whose it was.
func (s *subjects) gone(err error) (snapshot.Owner, bool) {
	f, ok := FaultOf(err).(*types.ManagedObjectNotFound)
	if !ok {
		return snapshot.Owner{}, false
	}
	one, ok := s.all[f.Obj]
	delete(s.all, f.Obj)
	return one.owner, ok
}

// A subject is something that is followed: whose it is, and how it looked.
type subject struct {
	owner snapshot.Owner
	print string
}

// followed returns the owned VMs of l and the running tasks.
func followed(l *Look, owner func(string) (snapshot.Owner, bool)) map[Ref]subject {
	out := make(map[Ref]subject)
	if l == nil {
		return out
	}
	for _, vm := range l.Tagged() {
		if o, ok := vm.Owner(); ok {
			running := types.VirtualMachineToolsRunningStatusGuestToolsNotRunning
			if vm.ToolsRunning {
				running = types.VirtualMachineToolsRunningStatusGuestToolsRunning
			}
			out[vm.Ref] = subject{o, printOf(map[string]any{
				"runtime.powerState": vm.Power, "runtime.connectionState": vm.Connection, "guest.ipAddress": vm.IP, "guest.toolsRunningStatus": running,
			})}
		}
	}
	for _, t := range l.Tasks {
		if !t.Running() {
			continue
		}
		o, ok := owner(t.Token)
		if vm, there := out[t.Entity]; there && !ok {
			o, ok = vm.owner, true
		}
		if ok {
			out[t.Ref] = subject{o, "running"}
		}
	}
	return out
}

// printOf is equal for VMs that look the same.
func printOf(values map[string]any) string {
	var out []string
	for _, p := range watchedPaths() {
		if v := values[p]; v != nil && v != "" {
			text := fmt.Sprint(v)
			if p == "guest.toolsRunningStatus" && text != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
				continue // whether they are away or still starting is one
			}
			out = append(out, p+"="+text)
		}
	}
	return strings.Join(out, " ")
}

// follow tells changes of what until looks show something else to follow, which is no error.
func (c *Client) follow(ctx context.Context, l *Look, what map[Ref]subject, owner func(string) (snapshot.Owner, bool), changed func(snapshot.Owner)) (err error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return err
	}
	made, err := methods.CreatePropertyCollector(ctx, vim, &types.CreatePropertyCollector{This: vim.ServiceContent.PropertyCollector})
	if err != nil {
		return err
	}
	collector := made.Returnval
	waiting, stop := context.WithCancel(ctx)
	var helper sync.WaitGroup
	stale := make(chan struct{})
	helper.Go(func() {
		if c.awaitOther(waiting, l, what, owner) {
			close(stale)
		}
		c.endCollector(vim, collector) //nolint:contextcheck // it is ended also where the call is over
		stop()                         // a client whose session ended gets nothing
	})
	defer func() {
		stop()
		helper.Wait()
		select {
		case <-stale:
			err = ctx.Err() // it was ended on purpose
		default:
		}
	}()
	if _, err := methods.CreateFilter(ctx, vim, &types.CreateFilter{This: collector, Spec: specOf(what)}); err != nil {
		return err
	}
	f := following{what: what, values: make(map[Ref]map[string]any), changed: changed}
	defer c.setWaiting(false)
	version, seconds := "", int32(c.poll/time.Second)
	for {
		res, err := methods.WaitForUpdatesEx(waiting, vim, &types.WaitForUpdatesEx{
			This: collector, Version: version, Options: &types.WaitOptions{MaxWaitSeconds: &seconds},
		})
		if err != nil {
			return err
		}
		if res.Returnval == nil {
			continue // nothing changed in that time
		}
		version = res.Returnval.Version
		for _, set := range res.Returnval.FilterSet {
			for _, update := range set.ObjectSet {
				f.take(update)
			}
		}
		c.setWaiting(true) // how everything looked first is known
	}
}

// following knows which changes were reported already.
type following struct {
	what    map[Ref]subject
	values  map[Ref]map[string]any
	changed func(snapshot.Owner)
}

func (f *following) take(u types.ObjectUpdate) {
	s, ok := f.what[u.Obj]
	if !ok {
		return
	}
	print := "gone"
	switch {
	case u.Kind == types.ObjectUpdateKindLeave:
	case u.Obj.Type == "Task":
		print = s.print
		for _, p := range u.ChangeSet {
			if p.Val == types.TaskInfoStateSuccess || p.Val == types.TaskInfoStateError {
				print = "ended"
			}
		}
	default:
		if f.values[u.Obj] == nil {
			f.values[u.Obj] = make(map[string]any)
		}
		for _, p := range u.ChangeSet {
			f.values[u.Obj][p.Name] = p.Val
		}
		print = printOf(f.values[u.Obj])
	}
	if print != s.print {
		f.what[u.Obj] = subject{s.owner, print}
		f.changed(s.owner)
	}
}

// awaitOther returns true when a look shows other things than what was in l, and false when
// ctx ends.
func (c *Client) awaitOther(ctx context.Context, l *Look, what map[Ref]subject, owner func(string) (snapshot.Owner, bool)) bool {
	refs := make(map[Ref]bool, len(what)) // what changes while it is followed
	for ref := range followed(l, owner) {
		refs[ref] = true
	}
	for {
		now, next := c.latestLook()
		if now != l {
			others := followed(now, owner)
			same := len(others) == len(refs)
			for ref := range others {
				same = same && refs[ref]
			}
			if !same {
				return true
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-next:
		}
	}
}

// endCollector has vCenter answer who waits for collector, and forget it.
func (c *Client) endCollector(vim *vim25.Client, collector Ref) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = methods.CancelWaitForUpdates(ctx, vim.Client, &types.CancelWaitForUpdates{This: collector})
	_, _ = methods.DestroyPropertyCollector(ctx, vim.Client, &types.DestroyPropertyCollector{This: collector})
}

func specOf(what map[Ref]subject) types.PropertyFilterSpec {
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{
		{Type: "VirtualMachine", PathSet: watchedPaths()}, {Type: "Task", PathSet: []string{"info.state"}},
	}}
	for ref := range what {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	slices.SortFunc(spec.ObjectSet, func(a, b types.ObjectSpec) int { return cmp.Compare(a.Obj.Value, b.Obj.Value) })
	return spec
}

// Latest returns the last look that was whole if it is not older than maxAge and a Watch waits
// for changes of what it shows, else nil: then only another look tells what is there.
func (c *Client) Latest(maxAge time.Duration) *Look {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.waiting || time.Since(c.latest.Began) > maxAge {
		return nil
	}
	return c.latest
}

func (c *Client) setWaiting(waiting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = waiting
}

// latestLook returns the last look that was whole, and what is closed by the next one.
func (c *Client) latestLook() (*Look, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest, c.next
}
