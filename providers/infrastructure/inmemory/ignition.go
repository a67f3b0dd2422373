package inmemory

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// ignitionConfig is the part of an Ignition config that this cloud acts on.
// Other parts (users, disks, links, …) do nothing to a machine without disks.
// Source: Ignition, specification 3.3.
type ignitionConfig struct {
	Ignition struct {
		Version string `json:"version"`
	} `json:"ignition"`
	Storage struct {
		Files []struct {
			Path     string             `json:"path"`
			Mode     *uint32            `json:"mode"`
			Contents ignitionResource   `json:"contents"`
			Append   []ignitionResource `json:"append"`
		} `json:"files"`
	} `json:"storage"`
	Systemd struct {
		Units []struct {
			Name     string `json:"name"`
			Enabled  bool   `json:"enabled"`
			Mask     bool   `json:"mask"`
			Contents string `json:"contents"`
			Dropins  []struct {
				Contents string `json:"contents"`
			} `json:"dropins"`
		} `json:"units"`
	} `json:"systemd"`
}

type ignitionResource struct {
	Source      string `json:"source"`
	Compression string `json:"compression"`
}

// maxFile bounds what a compressed file may become.
const maxFile = 16 << 20

// metadataFile is where Flatcar's agent writes what it learns of the machine.
const metadataFile = "/run/metadata/flatcar"

// readIgnition reads data as Ignition would, and then runs the unit that runs
// kubeadm up to that command, the way systemd and bash would. metadata is what
// the cloud tells the machine, by the names that it has in metadataFile.
func readIgnition(data []byte, metadata map[string]string) (disk, error) {
	var c ignitionConfig
	if err := json.Unmarshal(data, &c); err != nil {
		return disk{}, fmt.Errorf("ignition: failed to fetch config: %w", err)
	}
	if v := c.Ignition.Version; v != "3.3.0" && v != "3.4.0" {
		return disk{}, fmt.Errorf("ignition: failed to fetch config: unsupported config version %q", v)
	}
	d := disk{files: make(map[string]file)}
	for _, f := range c.Storage.Files {
		parts := f.Append
		if f.Contents.Source != "" || len(parts) == 0 {
			parts = append([]ignitionResource{f.Contents}, parts...)
		}
		content := bytes.Clone(d.files[f.Path].content)
		for _, r := range parts {
			more, err := r.fetch()
			if err != nil {
				return disk{}, fmt.Errorf("ignition: files: %s: %w", f.Path, err)
			}
			content = append(content, more...)
		}
		mode := fs.FileMode(0o644)
		if f.Mode != nil {
			mode = fs.FileMode(*f.Mode)
		}
		d.files[f.Path] = file{content: content, mode: mode}
	}
	for _, u := range c.Systemd.Units {
		text := u.Contents
		for _, drop := range u.Dropins {
			text += "\n" + drop.Contents
		}
		m := execStart.FindStringSubmatch(text)
		if m == nil || !u.Enabled || u.Mask || !strings.Contains(text, "WantedBy=") || d.missing(conditionPath, text) {
			continue
		}
		script, ok := d.files[m[1]]
		if !ok {
			continue // another unit of the user's
		}
		env := make(map[string]string)
		if strings.Contains(text, "EnvironmentFile="+metadataFile) {
			env = metadata
		}
		if err := d.run(string(script.content), env); err != nil {
			return disk{}, fmt.Errorf("systemd: %s: %w", u.Name, err)
		}
	}
	return d, nil
}

var (
	execStart     = regexp.MustCompile(`(?m)^ExecStart=/bin/bash (\S+)$`)
	conditionPath = regexp.MustCompile(`(?m)^ConditionPathExists=(\S+)$`)
	bashExport    = regexp.MustCompile(`^export (\w+)=(\S*)$`)
	bashSuffix    = regexp.MustCompile(`\$\{(\w+)%\.\*\}`)
	bashEnvsubst  = regexp.MustCompile(`^envsubst < (\S+) > (\S+)$`)
	bashMove      = regexp.MustCompile(`^mv (\S+) (\S+)$`)
)

// missing reports whether text has a condition on a file that is not there.
func (d disk) missing(condition *regexp.Regexp, text string) bool {
	for _, m := range condition.FindAllStringSubmatch(text, -1) {
		if _, ok := d.files[m[1]]; !ok {
			return true
		}
	}
	return false
}

// run runs the lines of a script up to kubeadm that change what kubeadm reads,
// and keeps those from there on as commands. It knows the few forms that people
// use for that; other commands do nothing to a machine without programs.
func (d *disk) run(script string, env map[string]string) error {
	expand := func(s string) string {
		s = bashSuffix.ReplaceAllStringFunc(s, func(v string) string {
			value := env[bashSuffix.FindStringSubmatch(v)[1]]
			if i := strings.LastIndexByte(value, '.'); i >= 0 {
				return value[:i]
			}
			return value
		})
		return os.Expand(s, func(name string) string { return env[name] })
	}
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		if m := bashExport.FindStringSubmatch(line); m != nil {
			env[m[1]] = expand(m[2])
		} else if m := bashEnvsubst.FindStringSubmatch(line); m != nil {
			from, ok := d.files[m[1]]
			if !ok {
				return fmt.Errorf("%s: No such file or directory", m[1])
			}
			d.files[m[2]] = file{content: []byte(os.Expand(string(from.content), func(name string) string { return env[name] })), mode: 0o644}
		} else if m := bashMove.FindStringSubmatch(line); m != nil {
			from, ok := d.files[m[1]]
			if !ok {
				return fmt.Errorf("mv: cannot stat '%s': No such file or directory", m[1])
			}
			delete(d.files, m[1])
			d.files[m[2]] = from
		} else if kubeadmCommand.MatchString(line) {
			d.commands = append(d.commands, lines[i:]...)
			return nil
		}
	}
	return nil
}

// fetch returns the content of a resource. This cloud has no other machines to
// fetch from: what is elsewhere is empty.
func (r ignitionResource) fetch() ([]byte, error) {
	rest, ok := strings.CutPrefix(r.Source, "data:")
	if !ok {
		return nil, nil
	}
	kind, text, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, errors.New("the data URL has no comma")
	}
	plain, err := url.PathUnescape(text)
	data := []byte(plain)
	if strings.HasSuffix(kind, ";base64") && err == nil {
		data, err = base64.StdEncoding.DecodeString(plain)
	}
	if err != nil || r.Compression != "gzip" {
		return data, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxFile))
}
