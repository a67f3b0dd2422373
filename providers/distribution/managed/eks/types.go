package eks

// The spec of NodeadmConfig of Cluster API Provider AWS: what of it JSON has.
// Source: kubernetes-sigs/cluster-api-provider-aws, bootstrap/eks/api/v1beta2.

type spec struct {
	Containerd         *containerd     `json:"containerd,omitempty"`
	DiskSetup          *diskSetup      `json:"diskSetup,omitempty"`
	FeatureGates       map[string]bool `json:"featureGates,omitempty"`
	Files              []file          `json:"files,omitempty"`
	Kubelet            *kubelet        `json:"kubelet,omitempty"`
	Mounts             [][]string      `json:"mounts,omitempty"`
	NTP                *ntp            `json:"ntp,omitempty"`
	PreNodeadmCommands []string        `json:"preNodeadmCommands,omitempty"`
	Users              []user          `json:"users,omitempty"`
}

// An object has fields that no schema names.
type object map[string]any

type containerd struct {
	BaseRuntimeSpec object `json:"baseRuntimeSpec,omitempty"`
	Config          string `json:"config,omitempty"`
}

type kubelet struct {
	Config object   `json:"config,omitempty"`
	Flags  []string `json:"flags,omitempty"`
}

type diskSetup struct {
	Filesystems []filesystem `json:"filesystems,omitempty"`
	Partitions  []partition  `json:"partitions,omitempty"`
}

type filesystem struct {
	Device     string   `json:"device"`
	ExtraOpts  []string `json:"extraOpts,omitempty"`
	Filesystem string   `json:"filesystem"`
	Label      string   `json:"label"`
	Overwrite  *bool    `json:"overwrite,omitempty"`
	Partition  string   `json:"partition,omitempty"`
}

type partition struct {
	Device    string `json:"device"`
	Layout    bool   `json:"layout"`
	Overwrite *bool  `json:"overwrite,omitempty"`
	TableType string `json:"tableType,omitempty"`
}

type file struct {
	Append      bool    `json:"append,omitempty"`
	Content     string  `json:"content,omitempty"`
	ContentFrom *source `json:"contentFrom,omitempty"`
	Encoding    string  `json:"encoding,omitempty"`
	Owner       string  `json:"owner,omitempty"`
	Path        string  `json:"path"`
	Permissions string  `json:"permissions,omitempty"`
}

// A source is a value of a Secret.
type source struct {
	Secret struct {
		Key  string `json:"key"`
		Name string `json:"name"`
	} `json:"secret"`
}

type ntp struct {
	Enabled *bool    `json:"enabled,omitempty"`
	Servers []string `json:"servers,omitempty"`
}

type user struct {
	Gecos             string   `json:"gecos,omitempty"`
	Groups            string   `json:"groups,omitempty"`
	HomeDir           string   `json:"homeDir,omitempty"`
	Inactive          bool     `json:"inactive,omitempty"`
	LockPassword      *bool    `json:"lockPassword,omitempty"`
	Name              string   `json:"name"`
	Passwd            string   `json:"passwd,omitempty"`
	PasswdFrom        *source  `json:"passwdFrom,omitempty"`
	PrimaryGroup      string   `json:"primaryGroup,omitempty"`
	Shell             string   `json:"shell,omitempty"`
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty"`
	Sudo              string   `json:"sudo,omitempty"`
}
