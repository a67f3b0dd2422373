package kubeadm

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/cloudinit"
	"fairlead.dev/providers/distribution/kubeadm/ignition"
)

// The names that Cluster API gives the parts of an Ignition config. People rely
// on them in drop-ins of the unit and in commands that change the configuration.
// Source: Cluster API, bootstrap/kubeadm/pkg/ignition/clc.
const (
	ignitionConfigPath = "/etc/kubeadm.yml"
	ignitionScriptPath = "/etc/kubeadm.sh"
	ignitionUnitName   = "kubeadm.service"
	ignitionUnit       = `[Unit]
Description=kubeadm
# The script takes this file away when the machine is part of its cluster.
ConditionPathExists=/etc/kubeadm.yml
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=/bin/bash /etc/kubeadm.sh

[Install]
WantedBy=multi-user.target
`
)

// ignition returns the user data as an Ignition config. A script runs
// the user's commands and kubeadm, once, at the first boot.
func (w *writer) ignition() ([]byte, error) {
	if len(w.spec.BootCommands) > 0 {
		return nil, fleet.FieldErrorf("bootCommands", "Ignition has none: add a unit with ignition.containerLinuxConfig.additionalConfig")
	}
	own, err := w.kubeadm(ignitionConfigPath, ignitionConfigPath)
	if err != nil {
		return nil, err
	}
	var files ignitionFiles
	for _, f := range own.certificates {
		files.own(f)
	}
	for i, f := range w.spec.Files {
		if err := w.ignitionFile(&files, f); err != nil {
			return nil, &fleet.FieldError{Field: fmt.Sprintf("files[%d]", i), Item: f.Path, Err: err}
		}
	}
	for _, f := range own.config {
		files.own(f)
	}
	config := &own.config[len(own.config)-1]
	if jinjaOfCloudInit.MatchString(string(config.Content)) {
		return nil, fleet.FieldErrorf("nodeRegistration", "Ignition evaluates no Jinja expression: write a variable of the shell, "+
			"and let preKubeadmCommands put its value in with envsubst")
	}
	files.own(cloudinit.File{Path: ignitionScriptPath, Owner: rootOwner, Permissions: "0700", Content: cloudinit.Text(w.script(own.command))})
	var out types.Config
	enabled, unit := true, ignitionUnit
	out.Systemd.Units = []types.Unit{{Name: ignitionUnitName, Enabled: &enabled, Contents: &unit}}
	if err := w.ignitionMachine(&out, &files); err != nil {
		return nil, err
	}
	if files.err != nil {
		return nil, files.err
	}
	out.Storage.Files = files.list
	c := w.spec.Ignition.ContainerLinuxConfig
	return ignition.Compile(out, c.AdditionalConfig, c.Strict != nil && *c.Strict)
}

// jinjaOfCloudInit matches what only cloud-init gives a value to.
var jinjaOfCloudInit = regexp.MustCompile(`\{\{-?\s*(ds|v1|local_hostname|instance_id)\b`)

// script returns what the unit runs. It stops at the first command that fails.
func (w *writer) script(command string) string {
	lines := append([]string{"#!/bin/bash", "set -e", ""}, w.spec.PreKubeadmCommands...)
	lines = append(lines, "", command,
		"mkdir -p /run/cluster-api", successCommand, "mv "+ignitionConfigPath+" /tmp/", "")
	lines = append(lines, w.spec.PostKubeadmCommands...)
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// ignitionFiles are the files of a config. A path has one entry in Ignition,
// where cloud-init writes in order.
type ignitionFiles struct {
	list []types.File
	err  error // the first file of our own that cannot be written
}

// own adds a file that is not the user's.
func (l *ignitionFiles) own(f cloudinit.File) {
	err := l.add(string(f.Path), string(f.Owner), string(f.Permissions), types.Resource{Source: dataURL([]byte(f.Content))}, f.Append)
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("file %s: %w", f.Path, err)
	}
}

// add adds a file: a later one replaces an earlier one of that path, or is
// appended to it.
func (l *ignitionFiles) add(path, owner, permissions string, content types.Resource, appends bool) error {
	for _, lost := range []string{"/run/", "/var/run/", "/tmp/"} {
		if strings.HasPrefix(path, lost) {
			return fleet.FieldErrorf("path", "%s is empty when the machine has started, Ignition runs before: "+
				"choose another path, or write the file in preKubeadmCommands", strings.TrimSuffix(lost, "/"))
		}
	}
	if !strings.HasPrefix(path, "/") {
		return fleet.FieldErrorf("path", "must begin with /")
	}
	mode, err := fileMode(permissions)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(l.list, func(f types.File) bool { return f.Path == path })
	if appends && i >= 0 {
		l.list[i].Append = append(l.list[i].Append, content)
		return nil
	}
	overwrite := !appends
	file := types.File{Node: types.Node{Path: path, Overwrite: &overwrite}, FileEmbedded1: types.FileEmbedded1{Mode: mode}}
	file.User.Name, file.User.ID, file.Group.Name, file.Group.ID = fileOwner(owner)
	if appends {
		file.Append = []types.Resource{content}
	} else {
		file.Contents = content
	}
	if i >= 0 {
		l.list[i] = file
	} else {
		l.list = append(l.list, file)
	}
	return nil
}

// ignitionFile adds a file of the user's.
func (w *writer) ignitionFile(files *ignitionFiles, f bootstrapv1.File) error {
	if f.Path == ignitionConfigPath || f.Path == ignitionScriptPath {
		return fleet.FieldErrorf("path", "this file holds how kubeadm is run: use preKubeadmCommands to change it")
	}
	content, err := w.content(f)
	if err != nil {
		return err
	}
	if err := cloudinit.CheckEncoding(string(f.Encoding), content); err != nil {
		return err
	}
	var r types.Resource
	switch f.Encoding {
	case "":
	case bootstrapv1.Gzip:
		r.Compression = &gzipped
	case bootstrapv1.Base64, bootstrapv1.GzipBase64:
		if content, err = base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(content), nil))); err != nil {
			return fleet.FieldErrorf("encoding", "the content is not in base64") // an error would quote it
		}
		if f.Encoding == bootstrapv1.GzipBase64 {
			r.Compression = &gzipped
		}
	default:
		return fleet.FieldErrorf("encoding", "there is no encoding %q", f.Encoding)
	}
	if r.Compression != nil && len(content) == 0 { // cloud-init writes an empty file, and Ignition does not end
		return fleet.FieldErrorf("encoding", "the content is empty, which Ignition cannot decompress: leave the encoding out")
	}
	r.Source = dataURL(content)
	return files.add(f.Path, f.Owner, f.Permissions, r, f.Append != nil && *f.Append)
}

var gzipped = "gzip" //nolint:gochecknoglobals // a constant that something points to

func dataURL(content []byte) *string {
	s := ignition.DataURL(content)
	return &s
}

// fileMode reads permissions: octal digits, "0644" where there are none, as in
// cloud-init.
func fileMode(permissions string) (*int, error) {
	mode := 0o644
	if permissions != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(permissions, "0o"), 8, 12)
		if err != nil {
			return nil, fleet.FieldErrorf("permissions", "%q is not a mode in octal digits", permissions)
		}
		mode = int(fs.FileMode(n))
	}
	return &mode, nil
}

// fileOwner reads "user:group", each a name or a number and each optional.
func fileOwner(owner string) (user *string, uid *int, group *string, gid *int) {
	read := func(s string) (*string, *int) {
		if s = strings.TrimSpace(s); s == "" {
			return nil, nil
		}
		if n, err := strconv.Atoi(s); err == nil {
			return nil, &n
		}
		return &s, nil
	}
	u, g, _ := strings.Cut(owner, ":")
	user, uid = read(u)
	group, gid = read(g)
	return user, uid, group, gid
}
