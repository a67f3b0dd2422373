package userdata

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

//go:embed steps.sh
var steps string

//go:embed cloudinit.sh
var cloudInit string

// cloudInitConfig keeps cloud-init to what the machine needs: the host's keys,
// users, network, packages and disks stay as they are.
//
//go:embed cloudinit.cfg
var cloudInitConfig string

// CloudInit returns the steps that have the host's cloud-init carry out the user
// data, which lies beside them as user-data, and the meta-data as meta-data.
func CloudInit(data []byte, m Metadata) ([]byte, error) {
	c, err := read(data, m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(steps)
	for _, f := range c.WriteFiles {
		fmt.Fprintf(&b, "keep %s\n", quote(f.Path))
	}
	users, err := c.users()
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		fmt.Fprintf(&b, "newcomer %s\n", quote(u.Name))
		if len(u.SSHAuthorizedKeys) > 0 {
			fmt.Fprintf(&b, "keep_keys %s\n", quote(u.Name))
		}
	}
	fmt.Fprintf(&b, "resolve %s\n", quote(m.Name))
	fmt.Fprintf(&b, "config() {\ncat <<'END'\n%sEND\n}\n", cloudInitConfig)
	b.WriteString(cloudInit)
	return b.Bytes(), nil
}

// Script returns the steps that carry out the user data without cloud-init.
func Script(data []byte, m Metadata) ([]byte, error) {
	c, err := read(data, m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(steps)
	if err := commands(&b, "bootcmd", c.BootCmd); err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "name_host %s\n", quote(m.Name))
	users, err := c.users()
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		u.write(&b)
	}
	for i := range c.WriteFiles {
		if err := c.WriteFiles[i].write(&b); err != nil {
			return nil, fmt.Errorf("write_files[%d] (%s): %w", i, c.WriteFiles[i].Path, err)
		}
	}
	b.WriteString("[ -z \"$failed\" ] || exit 1\n")
	if err := commands(&b, "runcmd", c.RunCmd); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// commands writes those of the module called name, which run in one shell whose last
// command says how it went, as cloud-init has it.
func commands(b *bytes.Buffer, name string, list []json.RawMessage) error {
	if len(list) == 0 {
		return nil
	}
	var script strings.Builder
	for i, raw := range list {
		var line string
		var words []string
		switch {
		case json.Unmarshal(raw, &line) == nil:
		case json.Unmarshal(raw, &words) == nil:
			for j, w := range words {
				words[j] = quote(w)
			}
			line = strings.Join(words, " ")
		default:
			return fmt.Errorf("%s[%d] is neither a text nor a list of texts", name, i)
		}
		script.WriteString(line + "\n")
	}
	fmt.Fprintf(b, "echo %s\nbase64 -d >\"$M/%s\" <<'END'\n%s\nEND\n(umask 022; exec sh \"$M/%s\")\n", name,
		name, base64.StdEncoding.EncodeToString([]byte(script.String())), name)
	return nil
}

func (f *file) write(b *bytes.Buffer) error {
	content, err := f.decoded()
	if err != nil {
		return err
	}
	mode, err := f.mode()
	if err != nil {
		return err
	}
	owner := f.Owner
	if owner == "" {
		owner = "root:root"
	}
	how := "write"
	if f.Append {
		how = "append"
	}
	fmt.Fprintf(b, "keep %s\nfile %s %s %s %s <<'END'\n%s\nEND\n", quote(f.Path),
		quote(f.Path), how, mode, quote(owner), base64.StdEncoding.EncodeToString(content))
	return nil
}

// mode reads permissions: YAML has read an unquoted 0640 as an octal number already.
func (f *file) mode() (string, error) {
	if len(f.Permissions) == 0 || string(f.Permissions) == "null" {
		return "0644", nil
	}
	var text string
	if json.Unmarshal(f.Permissions, &text) == nil {
		if _, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 12); err != nil {
			return "", fmt.Errorf("permissions %q are no octal number", text)
		}
		return strings.TrimPrefix(text, "0o"), nil
	}
	var n uint16
	if err := json.Unmarshal(f.Permissions, &n); err != nil {
		return "", fmt.Errorf("permissions %s are no number", f.Permissions)
	}
	return fmt.Sprintf("%04o", n), nil
}

// mostFile bounds what a compressed file may become.
const mostFile = 16 << 20

// decoded undoes the encoding, by its names in cloud-init.
func (f *file) decoded() ([]byte, error) {
	encoding := strings.ToLower(f.Encoding)
	if encoding == "" || encoding == "text/plain" {
		return []byte(f.Content), nil
	}
	data := []byte(f.Content)
	zip, plain := strings.CutPrefix(encoding, "gz")
	if plain {
		zip = strings.TrimPrefix(strings.TrimPrefix(zip, "ip"), "+")
	}
	switch zip {
	case "b64", "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(f.Content), "")); err != nil {
			return nil, fmt.Errorf("the content is not in %s", f.Encoding)
		}
	case "":
	default:
		return nil, fmt.Errorf("there is no encoding %q", f.Encoding)
	}
	if !plain {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the content is not in %s", f.Encoding)
	}
	out, err := io.ReadAll(io.LimitReader(r, mostFile+1))
	if err != nil || len(out) > mostFile {
		return nil, fmt.Errorf("the content is not in %s, or larger than %d bytes", f.Encoding, mostFile)
	}
	return out, nil
}

// users returns those that are to be made. "default" is the image's own, which a
// host that exists has already, or does not want.
func (c *config) users() ([]user, error) {
	var out []user
	for i, raw := range c.Users {
		var name string
		if json.Unmarshal(raw, &name) == nil {
			if name != "default" {
				return nil, fmt.Errorf("users[%d] is neither a user nor default", i)
			}
			continue
		}
		var u user
		if err := json.Unmarshal(raw, &u); err != nil || u.Name == "" || strings.ContainsAny(u.Name, " \t\n:/") {
			return nil, fmt.Errorf("users[%d] has no name that a user can have, or a field of another type", i)
		}
		out = append(out, u)
	}
	return out, nil
}

func (u *user) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "newcomer %s\nuser %s", quote(u.Name), quote(u.Name))
	for _, o := range []struct{ flag, value string }{
		{"--comment", u.Gecos},
		{"--groups", strings.ReplaceAll(u.Groups, " ", "")},
		{"--home-dir", u.HomeDir},
		{"--inactive", u.Inactive},
		{"--shell", u.Shell},
		{"--gid", u.PrimaryGroup},
		{"--password", u.Passwd},
	} {
		if o.value != "" {
			fmt.Fprintf(b, " %s %s", o.flag, quote(o.value))
		}
	}
	b.WriteString("\n")
	if u.LockPasswd == nil || *u.LockPasswd {
		fmt.Fprintf(b, "passwd --lock -- %s >/dev/null\n", quote(u.Name))
	}
	if u.Sudo != "" {
		path := "/etc/sudoers.d/90-fairlead-" + u.Name
		fmt.Fprintf(b, "keep %s\nfile %s write 0440 root:root <<'END'\n%s\nEND\n", quote(path), quote(path),
			base64.StdEncoding.EncodeToString([]byte(u.Name+" "+u.Sudo+"\n")))
	}
	if len(u.SSHAuthorizedKeys) > 0 {
		fmt.Fprintf(b, "authorize %s <<'END'\n%s\nEND\n", quote(u.Name),
			base64.StdEncoding.EncodeToString([]byte(strings.Join(u.SSHAuthorizedKeys, "\n")+"\n")))
	}
}

// quote returns s as one word of shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
