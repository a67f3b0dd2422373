package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The addresses of a lab: the bridge is 10.77.0.1, machine N is 10.77.0.(10+N),
// and those from 10.77.0.200 on are free for virtual addresses. Nothing outside
// of a lab's namespace sees them.
const (
	Gateway = "10.77.0.1"
	prefix  = "10.77.0."
	first   = 10
)

// Namespace is the name of the network namespace of the lab, as `ip netns` has it.
func (l *Lab) Namespace() string { return "fairlead-" + l.Name }

// makeNetwork makes the namespace with its bridge, unless it is there.
func (l *Lab) makeNetwork(ctx context.Context) error {
	if _, err := os.Stat(netns(l.Namespace())); err == nil {
		return nil
	}
	if os.Getenv(entered) == l.Name { // this process is in it, and Down took its name away
		runtime.LockOSThread() // the main thread may have been in a machine, and stays there
		defer runtime.UnlockOSThread()
		return ip(ctx, "netns attach "+l.Namespace()+" "+strconv.Itoa(unix.Gettid()))
	}
	return ip(ctx,
		"netns add "+l.Namespace(),
		"-n "+l.Namespace()+" link set lo up",
		"-n "+l.Namespace()+" link add br0 type bridge",
		"-n "+l.Namespace()+" addr add "+Gateway+"/24 dev br0",
		"-n "+l.Namespace()+" link set br0 up",
	)
}

// plug makes the namespace of the machine and joins it to the bridge.
func (m *Machine) plug(ctx context.Context) error {
	ns, lab, link := m.namespace(), m.lab.Namespace(), "v-"+m.Name
	// The kernel removes the links of a namespace some time after it.
	_ = ip(ctx, "-n "+lab+" link del "+link)
	if err := ip(ctx,
		"netns add "+ns,
		"-n "+lab+" link add "+link+" type veth peer name eth0 netns "+ns,
		"-n "+lab+" link set "+link+" master br0 up",
		"-n "+ns+" link set lo up",
		"-n "+ns+" addr add "+m.Address+"/24 brd + dev eth0",
		"-n "+ns+" link set eth0 up",
		"-n "+ns+" route add default via "+Gateway,
	); err != nil {
		return err
	}
	// What a node's image sets with sysctl. It belongs to the namespace.
	return inNamespace(ns, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
	})
}

// unplug removes the namespace of the machine with all links in it.
func (m *Machine) unplug() error {
	if _, err := os.Stat(netns(m.namespace())); err != nil {
		return nil
	}
	return ip(context.Background(), "netns del "+m.namespace())
}

func netns(name string) string { return "/run/netns/" + name }

// ip runs commands of ip, one after another.
func ip(ctx context.Context, commands ...string) error {
	for _, c := range commands {
		out, err := exec.CommandContext(ctx, "ip", strings.Fields(c)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// inNamespace calls f on a thread that is in the network namespace of that name.
func inNamespace(name string, f func() error) error {
	return onThread(func() error {
		if err := setns(name); err != nil {
			return err
		}
		return f()
	})
}

// onThread calls f on a thread that ends with it, so that f may move it to another
// namespace. Goroutines that f starts are not there.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: no other goroutine gets this thread
		done <- f()
	}()
	return <-done
}

// setns moves the calling thread.
func setns(name string) error {
	ns, err := os.Open(netns(name))
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("cannot enter the network %s: %w", name, err)
	}
	return nil
}

// Dial connects to an address of the lab from wherever the caller is. The
// address is an IP with a port: there are no names.
func (l *Lab) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = inNamespace(l.Namespace(), func() error {
		conn, err = (&net.Dialer{FallbackDelay: -1}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// The environment of a program that is in a lab's network says which it is, and by the
// number of an open file what network the program was started in.
const (
	entered = "FAIRLEAD_LAB_ENTERED"
	outside = "FAIRLEAD_LAB_OUTSIDE"
)

// DialOutside connects to an address of the network that the program was started in
// before it called Enter: a service on the loopback of the host is there.
func DialOutside(ctx context.Context, network, address string) (conn net.Conn, err error) {
	fd, err := strconv.Atoi(os.Getenv(outside))
	if err != nil {
		return nil, fmt.Errorf("this program has not entered a lab's network: %w", err)
	}
	err = onThread(func() error {
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("cannot enter the network outside of the lab's: %w", err)
		}
		conn, err = (&net.Dialer{FallbackDelay: -1}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Enter starts this program again inside the network of the lab, unless it is
// there: it returns only then. What listens, dials and is started from here on
// is on the lab's bridge, and on a loopback of its own.
//
// The lab of that name need not be up: its network is made if there is none.
func Enter(ctx context.Context, name string) error {
	if os.Getenv(entered) != "" {
		if fd, err := strconv.Atoi(os.Getenv(outside)); err == nil {
			unix.CloseOnExec(fd)
		}
		return nil
	}
	l, err := place(name)
	if err != nil {
		return err
	}
	if err := l.makeNetwork(ctx); err != nil {
		return err
	}
	from, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY, 0) // it stays open in the program that follows
	if err != nil {
		return err
	}
	if err := errors.Join(os.Setenv(entered, l.Name), os.Setenv(outside, strconv.Itoa(from))); err != nil {
		return err
	}
	return l.exec("/proc/self/exe", os.Args)
}

// Exec replaces this process by a command inside the network of the lab.
func (l *Lab) Exec(args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return l.exec(path, args)
}

func (l *Lab) exec(path string, args []string) error {
	runtime.LockOSThread()
	if err := setns(l.Namespace()); err != nil {
		return err
	}
	return unix.Exec(path, args, os.Environ())
}
