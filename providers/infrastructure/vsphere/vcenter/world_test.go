package vcenter

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/test/run/waits"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // vcsim tells each fault
	os.Exit(waits.Main(m))
}

// prod is the cluster that tests look at.
var prod = snapshot.Owner{Fleet: "f", Cluster: fleet.Key{Namespace: "prod", Name: "eu"}}

// world is a vcsim over TLS, in process, and a pool of clients of it.
type world struct {
	t     *testing.T
	model *simulator.Model
	url   *url.URL
	pool  *Pool
	cred  Credential
	vim   *vim25.Client

	mu    sync.Mutex
	calls []Call
	wrap  func(*http.Request, http.RoundTripper) (*http.Response, error)
}

// newWorld starts it: one data center, a cluster DC0_C0 with three hosts and two VMs, a
// host DC0_H0 without one, with two VMs.
func newWorld(t *testing.T, o Options, change ...func(*simulator.Model)) *world {
	t.Helper()
	m := simulator.VPX()
	for _, f := range change {
		f(m)
	}
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	m.Service.TLS = new(tls.Config)
	m.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword("fairlead@vsphere.local", "right")}
	m.Service.RegisterEndpoints = true
	s := m.Service.NewServer()
	w := &world{t: t, model: m, url: s.URL}
	o.Rate = -1
	o.Observe = func(c Call) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls = append(w.calls, c)
	}
	o.Wrap = func(base http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			w.mu.Lock()
			wrap := w.wrap
			w.mu.Unlock()
			if wrap != nil {
				return wrap(r, base)
			}
			return base.RoundTrip(r)
		})
	}
	w.pool = NewPool(o)
	w.cred = Credential{Server: s.URL.Host, Insecure: true, User: "fairlead@vsphere.local", Password: fleet.NewSecret([]byte("right"))}
	t.Cleanup(func() {
		w.pool.Close()
		s.Close()
		m.Remove()
	})
	return w
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// between has f stand between the client and vcsim.
func (w *world) between(f func(*http.Request, http.RoundTripper) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrap = f
}

// called returns the methods that were called since the last time.
func (w *world) called() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, c := range w.calls {
		out = append(out, c.Method)
	}
	w.calls = nil
	return strings.Join(out, " ")
}

func (w *world) client() *Client {
	w.t.Helper()
	c, err := w.pool.Client(w.cred)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// look takes a look that has seen all that came before.
func (w *world) look(c *Client) *Look {
	w.t.Helper()
	c.Changed(prod)
	l, err := c.Look(w.t.Context(), prod)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// refusal is the error of a look.
func (w *world) refusal(c *Client) string {
	w.t.Helper()
	c.Changed(prod)
	_, err := c.Look(w.t.Context(), prod)
	return toldOf(err)
}

// toldOf is the kind and the text of err.
func toldOf(err error) string {
	if err == nil {
		return "none"
	}
	return string(fleet.KindOf(err)) + ": " + err.Error()
}

// vm returns the reference of a VM of the model.
func (w *world) vm(name string) *simulator.VirtualMachine {
	w.t.Helper()
	for _, o := range w.model.Map().All("VirtualMachine") {
		if o.Entity().Name == name {
			return o.(*simulator.VirtualMachine)
		}
	}
	w.t.Fatalf("no VM %s", name)
	return nil
}

// update changes properties behind everybody's back.
func (w *world) update(o mo.Reference, changes ...types.PropertyChange) {
	own := *w.model.Service.Context // locks belong to a Context
	w.model.Map().AtomicUpdate(&own, o, changes)
}

// reconfigure is what an administrator does, and waits.
func (w *world) reconfigure(name string, spec types.VirtualMachineConfigSpec) {
	w.t.Helper()
	vm := w.vm(name)
	w.wait(object.NewVirtualMachine(w.admin(), vm.Self).Reconfigure(w.t.Context(), spec))
}

// tag writes tags into the configuration of a VM.
func (w *world) tag(name string, tags map[string]string, instance string) {
	w.t.Helper()
	text, err := json.Marshal(tags)
	if err != nil {
		w.t.Fatal(err)
	}
	w.reconfigure(name, types.VirtualMachineConfigSpec{
		InstanceUuid: instance,
		ExtraConfig:  []types.BaseOptionValue{&types.OptionValue{Key: TagsKey, Value: string(text)}},
	})
}

// admin speaks to vcsim without the client that is tested.
func (w *world) admin() *vim25.Client {
	w.t.Helper()
	if w.vim != nil {
		return w.vim
	}
	vim, err := vim25.NewClient(w.t.Context(), w.model.Service)
	if err != nil {
		w.t.Fatal(err)
	}
	w.vim = vim
	return vim
}

// wait waits for a task that the test asked for.
func (w *world) wait(t *object.Task, err error) {
	w.t.Helper()
	if err == nil {
		err = t.Wait(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// await waits until vcsim has ended task.
func (w *world) await(task types.ManagedObjectReference) {
	w.t.Helper()
	_ = object.NewTask(w.admin(), task).Wait(w.t.Context())
}

// tagsOf are the tags of a machine of prod.
func tagsOf(machine string) map[string]string {
	return map[string]string{fleet.TagFleet: "f", fleet.TagCluster: "prod/eu", fleet.TagMachine: machine}
}

// ours is an instance UUID of a machine, which Options.Ours knows in tests.
const ours = "00000000-0000-8000-8000-000000000001"

// methodOf is the method that r asks for.
func methodOf(r *http.Request) string {
	if m, ok := r.Context().Value(methodKey{}).([2]string); ok {
		return m[1]
	}
	return ""
}

// bodyOf reads what r sends, and leaves it there.
func bodyOf(r *http.Request) string {
	data, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data))
	return string(data)
}

// replaced is resp with to in place of the first from.
func replaced(resp *http.Response, from, to string) (*http.Response, error) {
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	data = bytes.Replace(data, []byte(from), []byte(to), 1)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return resp, err
}

// remove destroys a VM behind everybody's back.
func (w *world) remove(name string) {
	w.t.Helper()
	vm := object.NewVirtualMachine(w.admin(), w.vm(name).Self)
	w.wait(vm.PowerOff(w.t.Context()))
	w.wait(vm.Destroy(w.t.Context()))
}
