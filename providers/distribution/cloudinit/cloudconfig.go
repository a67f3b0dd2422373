package cloudinit

import "bytes"

// cloudConfigHeader makes cloud-init render the rest with Jinja, then read it
// as a cloud-config.
const cloudConfigHeader = "## template: jinja\n#cloud-config\n"

// A Config is the part of cloud-init's configuration that is written.
// Source: cloud-init, reference of modules.
type Config struct {
	WriteFiles []File                `yaml:"write_files,omitempty"`
	BootCmd    []Text                `yaml:"bootcmd,omitempty"`
	RunCmd     []Text                `yaml:"runcmd"`
	NTP        *NTP                  `yaml:"ntp,omitempty"`
	Users      []User                `yaml:"users,omitempty"`
	DiskSetup  map[Text]Partitioning `yaml:"disk_setup,omitempty"`
	FSSetup    []Filesystem          `yaml:"fs_setup,omitempty"`
	Mounts     [][]Text              `yaml:"mounts,omitempty"`
}

// The parts of a Config.
type (
	File struct {
		Path        Text `yaml:"path"`
		Encoding    Text `yaml:"encoding,omitempty"`
		Owner       Text `yaml:"owner,omitempty"`
		Permissions Text `yaml:"permissions,omitempty"`
		Append      bool `yaml:"append,omitempty"`
		Content     Text `yaml:"content"`
	}
	NTP struct {
		Enabled *bool  `yaml:"enabled,omitempty"`
		Servers []Text `yaml:"servers,omitempty"`
	}
	User struct {
		Name              Text   `yaml:"name"`
		Passwd            Text   `yaml:"passwd,omitempty"`
		Gecos             Text   `yaml:"gecos,omitempty"`
		Groups            Text   `yaml:"groups,omitempty"`
		HomeDir           Text   `yaml:"homedir,omitempty"`
		Inactive          Text   `yaml:"inactive,omitempty"`
		LockPasswd        *bool  `yaml:"lock_passwd,omitempty"`
		Shell             Text   `yaml:"shell,omitempty"`
		PrimaryGroup      Text   `yaml:"primary_group,omitempty"`
		Sudo              Text   `yaml:"sudo,omitempty"`
		SSHAuthorizedKeys []Text `yaml:"ssh_authorized_keys,omitempty"`
	}
	Partitioning struct {
		TableType Text  `yaml:"table_type,omitempty"`
		Layout    any   `yaml:"layout"` // a bool, or a list of percentages and [percentage, type]
		Overwrite *bool `yaml:"overwrite,omitempty"`
	}
	Filesystem struct {
		Label      Text   `yaml:"label"`
		Filesystem Text   `yaml:"filesystem"`
		Device     Text   `yaml:"device"`
		Partition  Text   `yaml:"partition,omitempty"`
		Overwrite  *bool  `yaml:"overwrite,omitempty"`
		ReplaceFS  Text   `yaml:"replace_fs,omitempty"`
		ExtraOpts  []Text `yaml:"extra_opts,omitempty"`
	}
)

// Marshal returns the user data. Equal values give equal bytes.
func (c Config) Marshal() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(cloudConfigHeader)
	if err := EncodeYAML(&b, c); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
