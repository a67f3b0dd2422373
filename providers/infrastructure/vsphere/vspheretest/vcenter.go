package vspheretest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	_ "github.com/vmware/govmomi/pbm/simulator" // storage policies
	"github.com/vmware/govmomi/session"
	vcsim "github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/cluster/simulator" // cluster modules
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator" // tags, content libraries
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/driver/transport/transporttest"
)

// The administrator of every vCenter.
const (
	Administrator = "administrator@vsphere.local"
	Password      = "Fairlead-1!"
)

// Options say what a vCenter is like. The zero value is what [New] describes.
type Options struct {
	Datacenters  int    // default 2
	Clusters     int    // of each data center; default 2
	ClusterHosts int    // of each cluster; default 2
	Pools        int    // resource pools below that of each cluster; default 1
	Datastores   int    // of each data center; default 2
	Portgroups   int    // of each data center; default 2
	Listen       string // address; default: a free port of the loopback
	Name         string // of the vCenter in words of tests; default "vcsim"

	// Templates of each data center, in its folder "templates"; nil: [DefaultTemplates].
	Templates []Template

	// Guest tells the addresses that the guest of a machine reports once it is
	// powered on, and that its tools run; nil: it reports nothing until [VCenter.Report].
	Guest func(m Machine) []string

	// Power is called with machines that are switched on and off, and with those that are
	// destroyed, which are off and Gone. It is called under the lock of the machine: what
	// takes time belongs into a goroutine of its own.
	Power func(m Machine)
}

// A VCenter is a vCenter in this process.
type VCenter struct {
	model *vcsim.Model
	inner *vcsim.Server // listens on an address that tests do not know
	serve *http.Server
	url   *url.URL
	cert  *x509.Certificate
	opts  Options

	creating sync.Mutex     // one VM appears at a time
	running  sync.WaitGroup // tasks, and the server

	mu         sync.Mutex
	closed     chan struct{}
	users      map[string]*user
	sessions   map[string]string // users by keys
	collectors map[types.ManagedObjectReference]*waiter
	calls      []*Call
	callFaults []*callFault
	taskFaults []*taskFault
	full       map[types.ManagedObjectReference]bool // datastores
	waits      map[types.ManagedObjectReference]chan struct{}
	tokens     map[string]string // users by ids of REST sessions
	macs       uint32
}

// New starts a vCenter that ends with the test: two data centers DC0 and DC1, each with two
// clusters of two hosts, DC0_C0 and DC0_C1, with a resource pool below their own,
// DC0_C0_RP1; datastores LocalDS_0 and LocalDS_1, on all hosts; networks VM Network, and
// DC0_DVPG0 and DC0_DVPG1 of a distributed switch; folders fleet and templates; and the
// templates of [DefaultTemplates]. Data centers have the tags region-0 and region-1 of the
// category k8s-region, clusters zone-0-0, zone-0-1, zone-1-0 … of k8s-zone.
func New(t testing.TB, o Options) *VCenter {
	t.Helper()
	v, err := Start(o)
	if err != nil {
		t.Fatalf("cannot start a vCenter: %v", err)
	}
	t.Cleanup(v.Close)
	return v
}

// starting is held while a vCenter starts: vcsim's list of storage policies is a global.
var starting sync.Mutex

// Start starts a vCenter for a program. [VCenter.Close] ends it.
func Start(o Options) (*VCenter, error) {
	v := &VCenter{
		opts: o.withDefaults(), closed: make(chan struct{}),
		users: make(map[string]*user), sessions: make(map[string]string), tokens: make(map[string]string),
		collectors: make(map[types.ManagedObjectReference]*waiter),
		full:       make(map[types.ManagedObjectReference]bool), waits: make(map[types.ManagedObjectReference]chan struct{}),
	}
	v.users[Administrator] = &user{password: Password, admin: true}
	if err := v.create(); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", v.opts.Listen)
	if err != nil {
		return nil, err
	}
	pair, err := transporttest.Certificate("vcsim", net.IPv4(127, 0, 0, 1), net.IPv6loopback) // a vCenter has a self-signed one after its installation
	if err != nil {
		return nil, err
	}
	v.cert = pair.Leaf
	v.url = &url.URL{Scheme: "https", Host: l.Addr().String(), Path: vim25.Path}
	v.serve = &http.Server{Handler: http.HandlerFunc(v.answer), ErrorLog: log.New(io.Discard, "", 0)}
	v.running.Go(func() {
		_ = v.serve.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}}))
	})
	if err := v.furnish(context.Background()); err != nil {
		v.Close()
		return nil, fmt.Errorf("cannot make the inventory: %w", err)
	}
	v.mu.Lock()
	v.calls = nil
	v.mu.Unlock()
	return v, nil
}

// create makes what vcsim makes by itself, and puts the handlers of this package before it.
func (v *VCenter) create() error {
	starting.Lock()
	defer starting.Unlock()
	m := vcsim.VPX()
	m.ServiceContent.About.InstanceUuid = uuid.NewString() // vcsim gives all instances the same
	m.Datacenter, m.Cluster, m.ClusterHost, m.Pool = v.opts.Datacenters, v.opts.Clusters, v.opts.ClusterHosts, v.opts.Pools
	m.Datastore, m.Portgroup, m.Host, m.Machine = v.opts.Datastores, v.opts.Portgroups, 0, 0
	if err := m.Create(); err != nil {
		return err
	}
	m.Service.RegisterEndpoints = true
	m.Service.Listen = &url.URL{User: url.UserPassword(Administrator, Password)}
	v.model = m
	m.Map().SessionManager().ValidLogin = v.validLogin
	v.wrap()
	v.inner = m.Service.NewServer()
	return nil
}

// Close ends it: sessions, requests that wait, tasks that are held.
func (v *VCenter) Close() {
	v.mu.Lock()
	select {
	case <-v.closed:
		v.mu.Unlock()
		return
	default:
	}
	close(v.closed)
	v.mu.Unlock()
	_ = v.serve.Close()
	v.cancelWaits("")
	v.running.Wait()
	v.inner.Close()
	v.model.Remove()
	vcenters.Delete(v.Registry())
}

// Server is its host and port, as spec.server has it.
func (v *VCenter) Server() string { return v.url.Host }

// URL is where its SDK is, without a user.
func (v *VCenter) URL() *url.URL { u := *v.url; return &u }

// Thumbprint is that of its certificate, of SHA-1 in hexadecimal with colons, as
// spec.thumbprint has it.
func (v *VCenter) Thumbprint() string { return soap.ThumbprintSHA1(v.cert) }

// ThumbprintSHA256 is the same of SHA-256.
func (v *VCenter) ThumbprintSHA256() string { return soap.ThumbprintSHA256(v.cert) }

// Client is a session of the administrator, whose calls count as all others do.
func (v *VCenter) Client(ctx context.Context) (*govmomi.Client, error) {
	return v.Login(ctx, Administrator, Password)
}

// Login begins a session of a user.
func (v *VCenter) Login(ctx context.Context, user, password string) (*govmomi.Client, error) {
	s := soap.NewClient(v.URL(), false)
	s.SetThumbprint(v.url.Host, v.Thumbprint())
	c, err := vim25.NewClient(ctx, s)
	if err != nil {
		return nil, err
	}
	out := &govmomi.Client{Client: c, SessionManager: session.NewManager(c)}
	return out, out.SessionManager.Login(ctx, url.UserPassword(user, password))
}

// REST is a session of the administrator with the services for tags and content libraries.
func (v *VCenter) REST(ctx context.Context) (*rest.Client, error) {
	c, err := v.Client(ctx)
	if err != nil {
		return nil, err
	}
	r := rest.NewClient(c.Client)
	return r, r.Login(ctx, url.UserPassword(Administrator, Password))
}

// Registry is vcsim's, for what this package does not offer.
func (v *VCenter) Registry() *vcsim.Registry { return v.model.Map() }

// Context is one of vcsim for a goroutine of its own: locks belong to a Context.
func (v *VCenter) Context() *vcsim.Context {
	own := *v.model.Service.Context
	return &own
}

func (o Options) withDefaults() Options {
	for _, n := range []*int{&o.Datacenters, &o.Clusters, &o.ClusterHosts, &o.Datastores, &o.Portgroups} {
		if *n == 0 {
			*n = 2
		}
	}
	if o.Pools == 0 {
		o.Pools = 1
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Templates == nil {
		o.Templates = DefaultTemplates()
	}
	return o
}
