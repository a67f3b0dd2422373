package metal3test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fairlead.dev/test/run/needs"
)

// The account of every Ironic.
const (
	User     = "admin"
	Password = "ironic-1"
)

// Options say what an Ironic is like. The zero value is what tests want.
type Options struct {
	Listen    string        // address of the API; default: a free port of the loopback
	Hosts     string        // address of the BMCs; default: a free port of the loopback
	PageLimit int           // nodes on one page of a listing; default 1000, as Ironic's
	Silence   time.Duration // how long a ramdisk may be silent before Ironic gives up; default a minute
	Double    bool          // a double answers, see [double]: nothing has to be installed
	Hardware  Hardware      // what hosts do with the content of their disks; nil: nothing
	Log       func(string)  // called for power changes and failures; may be nil
}

// An Ironic is one that runs, with its hosts.
type Ironic struct {
	*Front
	opts Options
	dir  string
	root string // of the system that Ironic is of; empty: this one
	bmcs *httptest.Server
	ends context.Context //nolint:containedctx // of what it is: it ends when it is closed
	end  context.CancelFunc
	done sync.WaitGroup // what hosts do

	double    *double // nil: Ironic runs
	processes sync.Mutex
	process   *process

	mu         sync.Mutex
	hosts      map[string]*Host
	hostFaults []*hostFault
}

// paths of what the Debian packages install. They bring no program.
const (
	packageIronic = "/usr/lib/python3/dist-packages/ironic/__init__.py"
	packageSushy  = "/usr/lib/python3/dist-packages/sushy/__init__.py"
)

// rootVariable names the root of another system with another Ironic, which is run then.
const rootVariable = "FAIRLEAD_TEST_IRONIC_ROOT"

// Needs skips t where Ironic cannot run, and says what to install.
func Needs(t testing.TB) {
	t.Helper()
	root := os.Getenv(rootVariable)
	needs.File(t, filepath.Join(root, packageIronic), "apt-get install python3-ironic")
	needs.File(t, filepath.Join(root, packageSushy), "apt-get install python3-sushy")
	needs.Program(t, "isoinfo", "apt-get install genisoimage")
}

// New starts an Ironic without nodes and hosts that ends with the test. It skips t where
// Ironic is not installed, and shows the end of Ironic's log where t fails.
func New(t testing.TB, o Options) *Ironic {
	t.Helper()
	if !o.Double {
		Needs(t)
	}
	i, err := Start(t.Context(), o)
	if err != nil {
		t.Fatalf("cannot start Ironic: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Ironic's log ends with:\n%s", i.LogEnd())
		}
		i.Close()
	})
	return i
}

// Start starts an Ironic for a program, and waits until it answers. [Ironic.Close] ends it.
func Start(ctx context.Context, o Options) (*Ironic, error) {
	root := os.Getenv(rootVariable)
	dir, err := os.MkdirTemp(filepath.Join(root, os.TempDir()), "ironic-") // short: the path of a socket has 108 bytes
	if err != nil {
		return nil, err
	}
	i := &Ironic{opts: o, dir: dir, root: root, hosts: make(map[string]*Host)}
	i.ends, i.end = context.WithCancel(context.WithoutCancel(ctx))
	if i.Front, err = i.newFront(o.Listen); err == nil {
		i.bmcs, err = serve(o.Hosts, i.answerHosts)
	}
	if err == nil {
		i.bmcs.Start()
		err = i.begin(ctx)
	}
	if err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// serve returns a server at an address, which has to be started.
func serve(address string, h http.HandlerFunc) (*httptest.Server, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	return &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ErrorLog: quiet(), ReadHeaderTimeout: time.Minute}}, nil
}

// begin makes what an Ironic has before its first start, and starts it.
func (i *Ironic) begin(ctx context.Context) error {
	if i.opts.Double {
		i.double = newDouble(i)
		i.done.Go(i.double.watchPower)
		return nil
	}
	if err := i.configure(); err != nil {
		return err
	}
	if err := i.createDatabase(ctx); err != nil {
		return err
	}
	return i.Resume(ctx)
}

// Close ends it and removes its leftovers.
func (i *Ironic) Close() {
	i.end()
	i.Crash()
	if i.Front != nil {
		i.Front.close()
	}
	if i.bmcs != nil {
		i.bmcs.CloseClientConnections()
		i.bmcs.Close()
	}
	i.done.Wait()
	if err := os.RemoveAll(i.dir); err != nil {
		i.say("cannot remove %s: %v", i.dir, err)
	}
}

// Crash ends Ironic without warning. Its API answers 503 until [Ironic.Resume].
func (i *Ironic) Crash() {
	i.processes.Lock()
	defer i.processes.Unlock()
	if i.process != nil {
		i.process.kill()
		i.process = nil
	}
}

// Resume starts Ironic after a crash, with the database that it had.
func (i *Ironic) Resume(ctx context.Context) error {
	i.processes.Lock()
	defer i.processes.Unlock()
	if i.process != nil {
		return errors.New("cannot start Ironic: it runs")
	}
	p, err := i.start(ctx)
	if err != nil {
		return fmt.Errorf("cannot start Ironic: %w", err)
	}
	i.process = p
	return nil
}

// LoseDatabase ends Ironic and starts it with an empty database: it knows no node, and hosts
// go on unchanged.
func (i *Ironic) LoseDatabase(ctx context.Context) error {
	if i.double != nil {
		i.double.lose()
		return nil
	}
	i.Crash()
	if err := os.Remove(filepath.Join(i.dir, databaseFile)); err != nil {
		return err
	}
	if err := i.createDatabase(ctx); err != nil {
		return err
	}
	return i.Resume(ctx)
}

// say tells Options.Log.
func (i *Ironic) say(format string, args ...any) {
	if i.opts.Log != nil {
		i.opts.Log(fmt.Sprintf(format, args...))
	}
}
