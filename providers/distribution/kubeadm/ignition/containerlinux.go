package ignition

import (
	"errors"
	"fmt"
	"path"
	"regexp"

	"github.com/coreos/ignition/v2/config/v3_4/types"

	"fairlead.dev/fleet/documents"
)

// The part of Container Linux Config that Ignition 3 can express.
// Source: Flatcar, config transpiler, configuration specification.
type (
	containerLinux struct {
		Ignition clIgnition `yaml:"ignition"`
		Storage  clStorage  `yaml:"storage"`
		Systemd  clSystemd  `yaml:"systemd"`
		Networkd clNetworkd `yaml:"networkd"`
		Passwd   clPasswd   `yaml:"passwd"`

		// Settings of programs, which a transpiler made files and units of.
		Etcd      any `yaml:"etcd"`
		Flannel   any `yaml:"flannel"`
		Docker    any `yaml:"docker"`
		Update    any `yaml:"update"`
		Locksmith any `yaml:"locksmith"`
	}
	clIgnition struct {
		Config struct {
			Append  []clSource `yaml:"append"`
			Replace *clSource  `yaml:"replace"`
		} `yaml:"config"`
		Timeouts struct {
			HTTPResponseHeaders *int `yaml:"http_response_headers"`
			HTTPTotal           *int `yaml:"http_total"`
		} `yaml:"timeouts"`
		Security struct {
			TLS struct {
				CertificateAuthorities []clSource `yaml:"certificate_authorities"`
			} `yaml:"tls"`
		} `yaml:"security"`
	}
	clSource struct {
		Source       string         `yaml:"source"`
		Verification clVerification `yaml:"verification"`
	}
	clVerification struct {
		Hash struct {
			Function string `yaml:"function"`
			Sum      string `yaml:"sum"`
		} `yaml:"hash"`
	}
	clSystemd struct {
		Units []struct {
			Name     string     `yaml:"name"`
			Enable   bool       `yaml:"enable"`
			Enabled  *bool      `yaml:"enabled"`
			Mask     *bool      `yaml:"mask"`
			Contents *string    `yaml:"contents"`
			Dropins  []clDropin `yaml:"dropins"`
		} `yaml:"units"`
	}
	clNetworkd struct {
		Units []struct {
			Name     string     `yaml:"name"`
			Contents string     `yaml:"contents"`
			Dropins  []clDropin `yaml:"dropins"`
		} `yaml:"units"`
	}
	clDropin struct {
		Name     string  `yaml:"name"`
		Contents *string `yaml:"contents"`
	}
	clPasswd struct {
		Users []struct {
			Name              string                   `yaml:"name"`
			PasswordHash      *string                  `yaml:"password_hash"`
			SSHAuthorizedKeys []types.SSHAuthorizedKey `yaml:"ssh_authorized_keys"`
			UID               *int                     `yaml:"uid"`
			Gecos             *string                  `yaml:"gecos"`
			HomeDir           *string                  `yaml:"home_dir"`
			NoCreateHome      *bool                    `yaml:"no_create_home"`
			PrimaryGroup      *string                  `yaml:"primary_group"`
			Groups            []types.Group            `yaml:"groups"`
			NoUserGroup       *bool                    `yaml:"no_user_group"`
			NoLogInit         *bool                    `yaml:"no_log_init"`
			Shell             *string                  `yaml:"shell"`
			System            *bool                    `yaml:"system"`
		} `yaml:"users"`
		Groups []struct {
			Name         string  `yaml:"name"`
			GID          *int    `yaml:"gid"`
			PasswordHash *string `yaml:"password_hash"`
			System       *bool   `yaml:"system"`
		} `yaml:"groups"`
	}
)

// unknownField matches what the YAML library says of a key that it does not
// know, which ends in the name of a Go type.
var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// readContainerLinux reads a Container Linux Config.
func readContainerLinux(data []byte) (types.Config, error) {
	var in containerLinux
	if err := documents.Decode(data, &in, true, documents.DefaultLimits()); err != nil {
		return types.Config{}, errors.New(unknownField.ReplaceAllString(err.Error(), "there is no field $1 in a Container Linux Config, or it is not supported"))
	}
	for _, s := range []struct {
		name string
		set  any
		way  string
	}{
		{"etcd", in.Etcd, "etcd runs as kubeadm's static pod; see clusterConfiguration.etcd"},
		{"flannel", in.Flannel, "a network of pods is installed in the cluster, not on its machines"},
		{"docker", in.Docker, "write a drop-in of docker.service under systemd.units"},
		{"update", in.Update, "write /etc/flatcar/update.conf under storage.files"},
		{"locksmith", in.Locksmith, "write /etc/flatcar/update.conf under storage.files"},
	} {
		if s.set != nil {
			return types.Config{}, fmt.Errorf("%s: this section is not supported: %s", s.name, s.way)
		}
	}
	var out types.Config
	if err := in.Ignition.translate(&out.Ignition); err != nil {
		return out, err
	}
	if err := in.Storage.translate(&out.Storage); err != nil {
		return out, err
	}
	in.Systemd.translate(&out.Systemd)
	in.Passwd.translate(&out.Passwd)
	in.Networkd.translate(&out.Storage)
	return out, nil
}

func (in clIgnition) translate(out *types.Ignition) error {
	var err error
	for i, s := range in.Config.Append {
		r, e := s.resource(fmt.Sprintf("ignition.config.append[%d]", i))
		out.Config.Merge, err = append(out.Config.Merge, r), errors.Join(err, e)
	}
	if in.Config.Replace != nil {
		r, e := in.Config.Replace.resource("ignition.config.replace")
		out.Config.Replace, err = r, errors.Join(err, e)
	}
	for i, s := range in.Security.TLS.CertificateAuthorities {
		r, e := s.resource(fmt.Sprintf("ignition.security.tls.certificate_authorities[%d]", i))
		out.Security.TLS.CertificateAuthorities, err = append(out.Security.TLS.CertificateAuthorities, r), errors.Join(err, e)
	}
	out.Timeouts = types.Timeouts{HTTPResponseHeaders: in.Timeouts.HTTPResponseHeaders, HTTPTotal: in.Timeouts.HTTPTotal}
	return err
}

func (s clSource) resource(field string) (types.Resource, error) {
	if s.Source == "" {
		return types.Resource{}, fmt.Errorf("%s.source: required", field)
	}
	return types.Resource{Source: &s.Source, Verification: s.Verification.translate()}, nil
}

func (v clVerification) translate() types.Verification {
	if v.Hash.Function == "" && v.Hash.Sum == "" {
		return types.Verification{}
	}
	hash := v.Hash.Function + "-" + v.Hash.Sum
	return types.Verification{Hash: &hash}
}

func (in clSystemd) translate(out *types.Systemd) {
	for _, u := range in.Units {
		unit := types.Unit{Name: u.Name, Enabled: u.Enabled, Mask: u.Mask, Contents: u.Contents}
		if u.Enable && u.Enabled == nil {
			unit.Enabled = &u.Enable
		}
		for _, d := range u.Dropins {
			unit.Dropins = append(unit.Dropins, types.Dropin{Name: d.Name, Contents: d.Contents})
		}
		out.Units = append(out.Units, unit)
	}
}

func (in clPasswd) translate(out *types.Passwd) {
	for _, u := range in.Users {
		out.Users = append(out.Users, types.PasswdUser{
			Name: u.Name, PasswordHash: u.PasswordHash, SSHAuthorizedKeys: u.SSHAuthorizedKeys, UID: u.UID, Gecos: u.Gecos,
			HomeDir: u.HomeDir, NoCreateHome: u.NoCreateHome, PrimaryGroup: u.PrimaryGroup, Groups: u.Groups,
			NoUserGroup: u.NoUserGroup, NoLogInit: u.NoLogInit, Shell: u.Shell, System: u.System,
		})
	}
	for _, g := range in.Groups {
		out.Groups = append(out.Groups, types.PasswdGroup{Name: g.Name, Gid: g.GID, PasswordHash: g.PasswordHash, System: g.System})
	}
}

// translate writes the units as files: Ignition 3 knows systemd's alone.
func (in clNetworkd) translate(out *types.Storage) {
	const dir = "/etc/systemd/network"
	write := func(name, content string) {
		source, mode, yes := DataURL([]byte(content)), 0o644, true
		out.Files = append(out.Files, types.File{
			Node:          types.Node{Path: path.Join(dir, name), Overwrite: &yes},
			FileEmbedded1: types.FileEmbedded1{Mode: &mode, Contents: types.Resource{Source: &source}},
		})
	}
	for _, u := range in.Units {
		if u.Contents != "" {
			write(u.Name, u.Contents)
		}
		for _, d := range u.Dropins {
			if d.Contents != nil {
				write(path.Join(u.Name+".d", d.Name), *d.Contents)
			}
		}
	}
}
