package lab

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// What lies in the folder of a machine:
//
//	disk.json       what its disk is made of
//	upper, work     the overlay's: what the machine wrote
//	root            where its root is mounted, in its own mount namespace alone
//	containerd      /var/lib/containerd, which cannot be an overlay upon another
//	state.json      who supervises it, while it is on
//	cgroups         its control groups, one a line
//	console.log     what it said

// A disk says what is mounted as the root of a machine.
type disk struct {
	Name         string // of the machine
	Rootfs, Node string
}

// makeDisk gives the machine a new disk. It must be off.
func (m *Machine) makeDisk() error {
	for _, name := range []string{"upper", "work", "root", "containerd"} {
		if err := os.RemoveAll(m.file(name)); err != nil {
			return err
		}
		if err := os.Mkdir(m.file(name), 0o755); err != nil {
			return err
		}
	}
	if err := cloneStore(m.lab.set.Store, m.file("containerd")); err != nil {
		return err
	}
	b, err := json.Marshal(disk{Name: m.Name, Rootfs: m.lab.set.Rootfs, Node: m.lab.set.Node})
	if err != nil {
		return err
	}
	if err := os.WriteFile(m.file("disk.json"), b, 0o644); err != nil {
		return err
	}
	user, err := publicKey(m.lab.Key)
	if err != nil {
		return err
	}
	host, err := os.ReadFile(m.hostKey())
	if err != nil {
		return err
	}
	files := []struct {
		name string
		text []byte
		mode fs.FileMode
	}{
		{"etc/hostname", []byte(m.Name + "\n"), 0o644},
		{"etc/hosts", []byte("127.0.0.1 localhost\n127.0.1.1 " + m.Name + "\n"), 0o644},
		{"etc/resolv.conf", []byte("nameserver " + Gateway + "\n"), 0o644},
		{"etc/ssh/ssh_host_ed25519_key", host, 0o600},
		{"root/.ssh/authorized_keys", user, 0o600},
	}
	for _, f := range files {
		if err := m.write(f.name, f.text, f.mode); err != nil {
			return err
		}
	}
	for _, name := range []string{"kubeadm", "kubelet", "kubectl"} {
		link := filepath.Join(m.file("upper"), "usr/bin", name)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("/opt/kubernetes/"+m.lab.version+"/"+name, link); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the machine's disk. The machine is off.
func (m *Machine) write(name string, text []byte, mode fs.FileMode) error {
	path := filepath.Join(m.file("upper"), name)
	dir := fs.FileMode(0o755)
	if strings.HasPrefix(name, "root/") {
		dir = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(path), dir); err != nil {
		return err
	}
	return os.WriteFile(path, text, mode)
}

// cloneStore makes to a containerd store like from. Images are never written to
// and become the same files; the databases become copies.
func cloneStore(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case path == from:
			return nil
		case d.IsDir():
			if err := os.Mkdir(target, 0o755); err != nil {
				return err
			}
			return os.Chmod(target, info.Mode())
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case strings.HasSuffix(path, ".db"):
			return copyFile(path, target)
		default:
			return os.Link(path, target)
		}
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// publicKey returns the public half of the private key in a file, as a line of
// authorized_keys.
func publicKey(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(b)
	if err != nil {
		return nil, err
	}
	return ssh.MarshalAuthorizedKey(signer.PublicKey()), nil
}

// Versions returns the versions of Kubernetes that machines of the lab have.
func (l *Lab) Versions() []string { return l.set.Versions }

// Kubectl returns a kubectl of the newest version, for use on the host.
func (l *Lab) Kubectl() string {
	return filepath.Join(l.set.Node, "opt/kubernetes", l.set.Versions[0], "kubectl")
}
