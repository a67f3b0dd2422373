package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A hierarchy is a tree of control groups: one for each controller in version 1,
// the one of version 2.
type hierarchy struct {
	mount   string // where it is mounted
	options string // that mount it: "cpu,cpuacct", "none,name=systemd"; none in version 2
	own     string // the group of this process, from the mount on
}

// hierarchies returns those that there are, that of version 2 last. A host may have
// both: systemd then uses the latter to follow its processes.
func hierarchies() ([]hierarchy, error) {
	own, err := ownGroups()
	if err != nil {
		return nil, err
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var v1, v2 []hierarchy
	for s := bufio.NewScanner(f); s.Scan(); {
		left, right, ok := strings.Cut(s.Text(), " - ")
		mount, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(mount) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			v2 = append(v2, hierarchy{mount: mount[4], own: own[""]})
		case "cgroup":
			options := slices.DeleteFunc(strings.Split(kind[2], ","), func(o string) bool {
				return o == "rw" || o == "ro" || o == "xattr" || o == "clone_children" || strings.HasPrefix(o, "release_agent=")
			})
			key := strings.Join(options, ",")
			h := hierarchy{mount: mount[4], options: key, own: own[key]}
			if strings.HasPrefix(key, "name=") {
				h.options = "none," + key
			}
			v1 = append(v1, h)
		}
	}
	if len(v1)+len(v2) == 0 {
		return nil, errors.New("this host has no control groups mounted")
	}
	return append(v1, v2[:min(1, len(v2))]...), nil
}

// ownGroups returns the groups of this process by the controllers of their
// hierarchy; "" is that of version 2.
func ownGroups() (map[string]string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			out[parts[1]] = parts[2]
		}
	}
	return out, nil
}

// makeCgroups makes the control groups of a machine, tells the file where they
// are, and returns them. They lie below the group of this process; in version 2
// below the root, since a group that has processes cannot have any with limits.
func makeCgroups(name, file string) ([]string, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, h := range all {
		base := filepath.Join(h.mount, h.own)
		if h.options == "" {
			base = h.mount
		}
		dirs = append(dirs, filepath.Join(base, "fairlead-lab", name))
	}
	if err := os.WriteFile(file, []byte(strings.Join(dirs, "\n")), 0o644); err != nil {
		return nil, err
	}
	for i, dir := range dirs {
		if err := makeCgroup(dir, all[i]); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// makeCgroup makes a group and the one above it.
func makeCgroup(dir string, h hierarchy) error {
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		switch {
		case h.options == "":
			for _, controller := range []string{"cpu", "cpuset", "io", "memory", "pids"} {
				// The kernel may be without one, and who needs it says so.
				_ = os.WriteFile(filepath.Join(filepath.Dir(d), "cgroup.subtree_control"), []byte("+"+controller), 0o644)
			}
		case slices.Contains(strings.Split(h.options, ","), "cpuset"):
			for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
				b, err := os.ReadFile(filepath.Join(filepath.Dir(d), name))
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(d, name), b, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// removeCgroups ends what still runs in the groups of the machine, and removes them.
func (m *Machine) removeCgroups() error {
	b, err := os.ReadFile(m.file("cgroups"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, dir := range strings.Fields(string(b)) {
		var err error
		for range 200 { // processes that were killed take a moment to go
			if err = removeCgroup(dir); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("cannot remove the control group of %s: %w", m.Name, err)
		}
		_ = os.Remove(filepath.Dir(dir)) // other machines may still be in it
	}
	return os.Remove(m.file("cgroups"))
}

// removeCgroup kills all processes below dir, and removes it.
func removeCgroup(dir string) error {
	var below []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			below = append(below, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, path := range slices.Backward(below) {
		b, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, word := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
				if err := processOf(pid).kill(); err != nil {
					return err
				}
			}
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
