package userdata

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"

	"fairlead.dev/providers/driver/cloudconfig"
)

//go:embed steps.sh
var steps string

//go:embed cloudinit.sh
var cloudInit string

// cloudInitConfig keeps cloud-init to what the machine needs: the host's keys,
// users, network, packages and disks stay unchanged.
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
	users, err := c.NewUsers()
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
	users, err := c.NewUsers()
	if err != nil {
		return nil, err
	}
	for i := range users {
		writeUser(&b, &users[i])
	}
	for i := range c.WriteFiles {
		if err := writeFile(&b, &c.WriteFiles[i]); err != nil {
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
func commands(b *bytes.Buffer, name string, list []cloudconfig.Command) error {
	if len(list) == 0 {
		return nil
	}
	var script strings.Builder
	for i, c := range list {
		line, err := c.Line(quote)
		if err != nil {
			return fmt.Errorf("%s[%d]: %w", name, i, err)
		}
		script.WriteString(line + "\n")
	}
	fmt.Fprintf(b, "echo %s\nbase64 -d >\"$M/%s\" <<'END'\n%s\nEND\n(umask 022; exec sh \"$M/%s\")\n", name,
		name, base64.StdEncoding.EncodeToString([]byte(script.String())), name)
	return nil
}

// writeFile writes the steps that write f.
func writeFile(b *bytes.Buffer, f *cloudconfig.File) error {
	content, err := f.Decoded()
	if err != nil {
		return err
	}
	mode, err := f.Mode()
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
	fmt.Fprintf(b, "keep %s\nfile %s %s %04o %s <<'END'\n%s\nEND\n", quote(f.Path),
		quote(f.Path), how, mode, quote(owner), base64.StdEncoding.EncodeToString(content))
	return nil
}

// writeUser writes the steps that make u.
func writeUser(b *bytes.Buffer, u *cloudconfig.User) {
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
