package kubeadm

import "bytes"

// cloudConfigHeader makes cloud-init render the rest with Jinja, then read it
// as a cloud-config.
const cloudConfigHeader = "## template: jinja\n#cloud-config\n"

// A cloudConfig is the part of cloud-init's configuration that is written.
// Source: cloud-init, reference of modules.
type cloudConfig struct {
	WriteFiles []writeFile           `yaml:"write_files,omitempty"`
	BootCmd    []text                `yaml:"bootcmd,omitempty"`
	RunCmd     []text                `yaml:"runcmd"`
	NTP        *ntp                  `yaml:"ntp,omitempty"`
	Users      []user                `yaml:"users,omitempty"`
	DiskSetup  map[text]partitioning `yaml:"disk_setup,omitempty"`
	FSSetup    []filesystem          `yaml:"fs_setup,omitempty"`
	Mounts     [][]text              `yaml:"mounts,omitempty"`
}

type (
	writeFile struct {
		Path        text `yaml:"path"`
		Encoding    text `yaml:"encoding,omitempty"`
		Owner       text `yaml:"owner,omitempty"`
		Permissions text `yaml:"permissions,omitempty"`
		Append      bool `yaml:"append,omitempty"`
		Content     text `yaml:"content"`
	}
	ntp struct {
		Enabled *bool  `yaml:"enabled,omitempty"`
		Servers []text `yaml:"servers,omitempty"`
	}
	user struct {
		Name              text   `yaml:"name"`
		Passwd            text   `yaml:"passwd,omitempty"`
		Gecos             text   `yaml:"gecos,omitempty"`
		Groups            text   `yaml:"groups,omitempty"`
		HomeDir           text   `yaml:"homedir,omitempty"`
		Inactive          text   `yaml:"inactive,omitempty"`
		LockPasswd        *bool  `yaml:"lock_passwd,omitempty"`
		Shell             text   `yaml:"shell,omitempty"`
		PrimaryGroup      text   `yaml:"primary_group,omitempty"`
		Sudo              text   `yaml:"sudo,omitempty"`
		SSHAuthorizedKeys []text `yaml:"ssh_authorized_keys,omitempty"`
	}
	partitioning struct {
		TableType text  `yaml:"table_type,omitempty"`
		Layout    any   `yaml:"layout"` // a bool, or a list of percentages and [percentage, type]
		Overwrite *bool `yaml:"overwrite,omitempty"`
	}
	filesystem struct {
		Label      text   `yaml:"label"`
		Filesystem text   `yaml:"filesystem"`
		Device     text   `yaml:"device"`
		Partition  text   `yaml:"partition,omitempty"`
		Overwrite  *bool  `yaml:"overwrite,omitempty"`
		ReplaceFS  text   `yaml:"replace_fs,omitempty"`
		ExtraOpts  []text `yaml:"extra_opts,omitempty"`
	}
)

// marshal returns the user data. Equal values give equal bytes.
func (c cloudConfig) marshal() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(cloudConfigHeader)
	if err := encodeYAML(&b, c); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
