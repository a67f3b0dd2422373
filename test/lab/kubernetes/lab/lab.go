package lab

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/test/lab/kubernetes/images"
)

// Options of a lab.
type Options struct {
	Name     string // none: "default". Labs of different names know nothing of each other
	Machines int    // how many: m1, m2, …; at most 150
	Version  string // of Kubernetes that machines have at first; none: the newest of the images
}

// A Lab is a network with machines.
type Lab struct {
	Name string
	Key  string // file: the private key that root of every machine accepts

	dir      string // of all that is the lab's
	set      images.Set
	version  string
	machines []*Machine
	lock     *os.File // held by the owner of the lab
}

// Up makes a lab. One of the same name that is no longer held is removed
// first; one that is held is an error. It returns when all machines answer on
// the port of SSH. The lab goes with Down, or with the next Up.
func Up(ctx context.Context, o Options) (*Lab, error) {
	if o.Machines < 0 || o.Machines > 150 {
		return nil, fmt.Errorf("a lab has 0 to 150 machines, not %d", o.Machines)
	}
	set, err := images.Current()
	if err != nil {
		return nil, err
	}
	l, err := open(o.Name)
	if err != nil {
		return nil, err
	}
	l.set = set
	if err := l.remove(os.Getenv(entered) == l.Name); err != nil {
		return nil, errors.Join(err, l.lock.Close())
	}
	l.version = o.Version
	if l.version == "" {
		l.version = l.set.Versions[0]
	}
	if err := l.make(ctx, o.Machines); err != nil {
		return nil, errors.Join(err, l.Down())
	}
	return l, nil
}

// Remove removes the lab of that name, which is not held, if there is one.
func Remove(name string) error {
	l, err := open(name)
	if err != nil {
		return err
	}
	return l.Down()
}

// Release lets go of the lab and leaves it running: `lab up` ends, and its
// machines go on. View finds it.
func (l *Lab) Release() error { return l.lock.Close() }

// View finds a lab and does not hold it: for looking into a lab of somebody else.
func View(name string) (*Lab, error) {
	l, err := place(name)
	if err != nil {
		return nil, err
	}
	return l, l.find()
}

// Down switches all machines off and removes all that is the lab's.
func (l *Lab) Down() error {
	return errors.Join(l.remove(false), l.lock.Close())
}

// Machines returns the machines in the order of their numbers.
func (l *Lab) Machines() []*Machine { return l.machines }

// Machine returns the machine of that name.
func (l *Lab) Machine(name string) (*Machine, error) {
	for _, m := range l.machines {
		if m.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("the lab %s has no machine %s; its machines are m1 to m%d", l.Name, name, len(l.machines))
}

// names of labs are part of names of network namespaces and of links.
var names = regexp.MustCompile(`^[a-z][a-z0-9]{0,7}$`)

// place returns a lab that knows its name and where it lies.
func place(name string) (*Lab, error) {
	if name == "" {
		name = "default"
	}
	if !names.MatchString(name) {
		return nil, fmt.Errorf("%q cannot be the name of a lab: it has 1 to 8 letters a-z and digits, a letter first", name)
	}
	dir, err := images.Dir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "labs", name)
	return &Lab{Name: name, dir: dir, Key: filepath.Join(dir, "id_ed25519")}, nil
}

// open returns a lab that is held by this process.
func open(name string) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("a lab is made by root: it mounts, and makes namespaces and network links")
	}
	l, err := place(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(l.dir), 0o755); err != nil {
		return nil, err
	}
	if l.lock, err = os.OpenFile(l.dir+".lock", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(l.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("the lab %s is in use by another process; give yours another name", l.Name), l.lock.Close())
	}
	return l, nil
}

// make makes the network and n machines, and starts them.
func (l *Lab) make(ctx context.Context, n int) error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	if !slices.Contains(l.set.Versions, l.version) {
		return fmt.Errorf("the images have no Kubernetes %s; they have %s", l.version, strings.Join(l.set.Versions, ", "))
	}
	if err := os.WriteFile(filepath.Join(l.dir, "version"), []byte(l.version), 0o644); err != nil {
		return err
	}
	public, err := newKey(l.Key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.Key+".pub", public, 0o644); err != nil {
		return err
	}
	if err := l.makeNetwork(ctx); err != nil {
		return err
	}
	for i := range n {
		m := l.machine(i + 1)
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if _, err := newKey(m.hostKey()); err != nil {
			return err
		}
		if err := m.makeDisk(); err != nil {
			return err
		}
		l.machines = append(l.machines, m)
		if err := m.switchOn(ctx); err != nil {
			return err
		}
	}
	for _, m := range l.machines {
		if err := m.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// find finds the machines that there are.
func (l *Lab) find() error {
	var err error
	if l.set, err = images.Current(); err != nil {
		return err
	}
	for i := 1; ; i++ {
		m := l.machine(i)
		if _, err := os.Stat(m.dir); err != nil {
			break
		}
		l.machines = append(l.machines, m)
	}
	if _, err := os.Stat(l.Key); err != nil {
		return fmt.Errorf("there is no lab %s: run make lab-up", l.Name)
	}
	version, err := os.ReadFile(filepath.Join(l.dir, "version"))
	l.version = string(version)
	return err
}

// newKey makes a key in the form of OpenSSH at path, and returns the line for
// authorized_keys.
func newKey(path string) ([]byte, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	return ssh.MarshalAuthorizedKey(key), nil
}
