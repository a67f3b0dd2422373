package cloudconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet/documents"
)

// What Read refuses, and cloud-init does.
var (
	ErrFormat   = errors.New("the user data is no cloud-config")
	ErrTemplate = errors.New("the user data has a Jinja expression that is more than a variable")
	ErrYAML     = errors.New("the user data is no YAML")
)

// A Config is the part of cloud-init's configuration that Fairlead writes.
// Source: cloud-init, reference of modules.
type Config struct {
	WriteFiles []File            `json:"write_files,omitempty"`
	BootCmd    []Command         `json:"bootcmd,omitempty"`
	RunCmd     []Command         `json:"runcmd,omitempty"`
	Users      []json.RawMessage `json:"users,omitempty"` // "default", or a User
	NTP        json.RawMessage   `json:"ntp,omitempty"`
	DiskSetup  json.RawMessage   `json:"disk_setup,omitempty"`
	FSSetup    json.RawMessage   `json:"fs_setup,omitempty"`
	Mounts     json.RawMessage   `json:"mounts,omitempty"`
}

// modules are the keys of a Config.
func modules() []string {
	return []string{"write_files", "bootcmd", "runcmd", "users", "ntp", "disk_setup", "fs_setup", "mounts"}
}

// A Reader reads user data for a machine.
type Reader struct {
	// Variables of the machine, by the names that templates use: "ds.meta_data.x". A
	// name with a hyphen is written with "_".
	Variables map[string]string

	// Strict refuses variables that are not defined, modules and fields that Config does
	// not have, and paths of files that are not absolute. Otherwise Read does as
	// cloud-init: it passes over modules, and leaves a mark in place of a variable.
	Strict bool
}

// Read reads data. The error is ErrFormat, ErrTemplate or ErrYAML, or says what Strict
// refuses.
func (r Reader) Read(data []byte) (*Config, error) {
	text, err := r.render(string(data))
	if err != nil {
		return nil, err
	}
	if !headed(text, "#cloud-config") {
		return nil, ErrFormat
	}
	c := new(Config)
	if !r.Strict {
		if err := documents.Unmarshal([]byte(text), c, documents.BuiltLimits()); err != nil {
			return nil, ErrYAML
		}
		return c, nil
	}
	var known map[string]json.RawMessage
	if err := documents.Unmarshal([]byte(text), &known, documents.BuiltLimits()); err != nil {
		return nil, ErrYAML
	}
	if err := documents.UnmarshalStrict([]byte(text), c, documents.BuiltLimits()); err != nil {
		for _, key := range slices.Sorted(maps.Keys(known)) {
			if !slices.Contains(modules(), key) {
				return nil, fmt.Errorf("the user data has %s, which is not supported", key)
			}
		}
		return nil, errors.New("the user data has a field that is not supported, or of another type")
	}
	return c, c.paths()
}

// paths refuses files whose path is no absolute one of a single line.
func (c *Config) paths() error {
	for i, f := range c.WriteFiles {
		if !strings.HasPrefix(f.Path, "/") || strings.ContainsAny(f.Path, "\n\x00") {
			return fmt.Errorf("write_files[%d]: the path %q is not absolute, or more than a line", i, f.Path)
		}
	}
	return nil
}

// headed reports whether the first line of text is header.
func headed(text, header string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first) == header
}

// Files returns the files of user data without rendering it, as far as they can be
// read: for those who say how large they are.
func Files(data []byte) []File {
	var c struct {
		WriteFiles []File `json:"write_files"`
	}
	_ = documents.Unmarshal(data, &c, documents.BuiltLimits()) // what cannot be read has no files
	return c.WriteFiles
}

// A Command is one of bootcmd or runcmd: a line of shell, or a list of words.
type Command json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (c *Command) UnmarshalJSON(data []byte) error { return (*json.RawMessage)(c).UnmarshalJSON(data) }

// Line returns the command as a line of shell. Each word of a list goes through quote.
func (c Command) Line(quote func(string) string) (string, error) {
	var line string
	if json.Unmarshal(c, &line) == nil {
		return line, nil
	}
	var words []string
	if json.Unmarshal(c, &words) != nil {
		return "", errors.New("it is neither a string nor a list of strings")
	}
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, " "), nil
}

// A User is one that cloud-init makes.
type User struct {
	Name              string   `json:"name"`
	Passwd            string   `json:"passwd,omitempty"`
	Gecos             string   `json:"gecos,omitempty"`
	Groups            string   `json:"groups,omitempty"`
	HomeDir           string   `json:"homedir,omitempty"`
	Inactive          string   `json:"inactive,omitempty"`
	LockPasswd        *bool    `json:"lock_passwd,omitempty"`
	Shell             string   `json:"shell,omitempty"`
	PrimaryGroup      string   `json:"primary_group,omitempty"`
	Sudo              string   `json:"sudo,omitempty"`
	SSHAuthorizedKeys []string `json:"ssh_authorized_keys,omitempty"`
}

// NewUsers returns the users that are to be made. "default" is not among them: it is the
// image's own.
func (c *Config) NewUsers() ([]User, error) {
	var out []User
	for i, raw := range c.Users {
		var name string
		if json.Unmarshal(raw, &name) == nil {
			if name != "default" {
				return nil, fmt.Errorf("users[%d] is neither a user nor default", i)
			}
			continue
		}
		var u User
		if err := json.Unmarshal(raw, &u); err != nil || u.Name == "" || strings.ContainsAny(u.Name, " \t\n:/") {
			return nil, fmt.Errorf("users[%d] has no name that a user can have, or a field of another type", i)
		}
		out = append(out, u)
	}
	return out, nil
}
