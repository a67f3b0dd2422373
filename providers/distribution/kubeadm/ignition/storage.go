package ignition

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
)

// The storage of a Container Linux Config.
type (
	clStorage struct {
		Disks []struct {
			Device     string        `yaml:"device"`
			WipeTable  *bool         `yaml:"wipe_table"`
			Partitions []clPartition `yaml:"partitions"`
		} `yaml:"disks"`
		RAID []struct {
			Name    string             `yaml:"name"`
			Level   string             `yaml:"level"`
			Devices []types.Device     `yaml:"devices"`
			Spares  *int               `yaml:"spares"`
			Options []types.RaidOption `yaml:"options"`
		} `yaml:"raid"`
		Filesystems []struct {
			Name  string   `yaml:"name"`
			Mount *clMount `yaml:"mount"`
			Path  string   `yaml:"path"`
		} `yaml:"filesystems"`
		Files []struct {
			clNode   `yaml:",inline"`
			Append   bool       `yaml:"append"`
			Contents clContents `yaml:"contents"`
			Mode     *int       `yaml:"mode"`
		} `yaml:"files"`
		Directories []struct {
			clNode `yaml:",inline"`
			Mode   *int `yaml:"mode"`
		} `yaml:"directories"`
		Links []struct {
			clNode `yaml:",inline"`
			Target string `yaml:"target"`
			Hard   *bool  `yaml:"hard"`
		} `yaml:"links"`
	}
	clPartition struct {
		Label    *string `yaml:"label"`
		Number   int     `yaml:"number"`
		Size     string  `yaml:"size"`
		Start    string  `yaml:"start"`
		TypeGUID string  `yaml:"type_guid"`
		GUID     *string `yaml:"guid"`
	}
	clMount struct {
		Device         string                   `yaml:"device"`
		Format         string                   `yaml:"format"`
		WipeFilesystem *bool                    `yaml:"wipe_filesystem"`
		Label          *string                  `yaml:"label"`
		UUID           *string                  `yaml:"uuid"`
		Options        []types.FilesystemOption `yaml:"options"`
	}
	clNode struct {
		Filesystem string   `yaml:"filesystem"`
		Path       string   `yaml:"path"`
		Overwrite  *bool    `yaml:"overwrite"`
		User       *clOwner `yaml:"user"`
		Group      *clOwner `yaml:"group"`
	}
	clOwner struct {
		ID   *int    `yaml:"id"`
		Name *string `yaml:"name"`
	}
	clContents struct {
		Inline *string `yaml:"inline"`
		Remote *struct {
			URL          string         `yaml:"url"`
			Compression  *string        `yaml:"compression"`
			Verification clVerification `yaml:"verification"`
		} `yaml:"remote"`
		Local string `yaml:"local"`
	}
)

func (in clStorage) translate(out *types.Storage) error {
	for _, r := range in.RAID {
		out.Raid = append(out.Raid, types.Raid{Name: r.Name, Level: &r.Level, Devices: r.Devices, Spares: r.Spares, Options: r.Options})
	}
	for i, f := range in.Filesystems {
		field := fmt.Sprintf("storage.filesystems[%d]", i)
		if f.Mount == nil || f.Path != "" {
			return fmt.Errorf("%s.path: file systems that are mounted already need no entry: leave it out", field)
		}
		m := f.Mount
		out.Filesystems = append(out.Filesystems, types.Filesystem{
			Device: m.Device, Format: &m.Format, WipeFilesystem: m.WipeFilesystem, Label: m.Label, UUID: m.UUID, Options: m.Options,
		})
	}
	return cmp.Or(in.disks(out), in.files(out), in.others(out))
}

func (in clStorage) disks(out *types.Storage) error {
	for i, d := range in.Disks {
		disk := types.Disk{Device: d.Device, WipeTable: d.WipeTable}
		for j, p := range d.Partitions {
			partition, err := p.translate(j + 1)
			if err != nil {
				return fmt.Errorf("storage.disks[%d].partitions[%d].%w", i, j, err)
			}
			disk.Partitions = append(disk.Partitions, partition)
		}
		out.Disks = append(out.Disks, disk)
	}
	return nil
}

// translate returns the partition; one without label and number is the nth,
// since Ignition 3 wants one of them.
func (p clPartition) translate(nth int) (types.Partition, error) {
	out := types.Partition{Label: p.Label, Number: p.Number, GUID: p.GUID}
	if p.Label == nil && p.Number == 0 {
		out.Number = nth
	}
	var err error
	if out.SizeMiB, err = mebibytes(p.Size); err != nil {
		return out, fmt.Errorf("size: %w", err)
	}
	if out.StartMiB, err = mebibytes(p.Start); err != nil {
		return out, fmt.Errorf("start: %w", err)
	}
	guid := p.TypeGUID
	switch guid {
	case "":
		return out, nil
	case "linux_filesystem_data":
		guid = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
	case "raid_partition":
		guid = "A19D880F-05FC-4D3B-A006-743F0F84911E"
	case "swap_partition":
		guid = "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F"
	case "raid_containing_root":
		guid = "BE9067B9-EA49-4F15-B4F6-F36F8C9E1818"
	}
	out.TypeGUID = &guid
	return out, nil
}

// mebibytes reads a size with its unit. Ignition 3 has whole MiB alone.
func mebibytes(s string) (*int, error) {
	if s == "" || s == "0" {
		return nil, nil
	}
	for _, u := range []struct {
		suffix string
		kib    int
	}{{"KiB", 1}, {"MiB", 1 << 10}, {"GiB", 1 << 20}} {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(digits))
		if err != nil || n < 0 || n > 1<<40 {
			break
		}
		if n*u.kib%(1<<10) != 0 {
			return nil, fmt.Errorf("%q is not a whole number of MiB, which Ignition wants", s)
		}
		mib := n * u.kib >> 10
		return &mib, nil
	}
	return nil, fmt.Errorf("%q is not a size with KiB, MiB or GiB", s)
}

func (in clStorage) files(out *types.Storage) error {
	for i, f := range in.Files {
		field := fmt.Sprintf("storage.files[%d]", i)
		node, err := f.node(field)
		if err != nil {
			return err
		}
		r, err := f.Contents.resource(field + ".contents")
		if err != nil {
			return err
		}
		file := types.File{Node: node, FileEmbedded1: types.FileEmbedded1{Mode: f.Mode}}
		switch {
		case f.Append && f.Overwrite != nil && *f.Overwrite:
			return fmt.Errorf("%s.overwrite: a file is either appended to or overwritten", field)
		case f.Append:
			file.Append = []types.Resource{r}
		default:
			file.Contents = r
			if f.Overwrite == nil {
				yes := true // as Container Linux Configs have it
				file.Overwrite = &yes
			}
		}
		out.Files = append(out.Files, file)
	}
	return nil
}

func (c clContents) resource(field string) (types.Resource, error) {
	switch {
	case c.Local != "":
		return types.Resource{}, fmt.Errorf("%s.local: there are no files beside the config: write them inline", field)
	case c.Inline != nil && c.Remote != nil:
		return types.Resource{}, fmt.Errorf("%s: only one of inline and remote may be set", field)
	case c.Remote != nil:
		out := types.Resource{Source: &c.Remote.URL, Verification: c.Remote.Verification.translate()}
		if c.Remote.Compression != nil && *c.Remote.Compression != "" {
			out.Compression = c.Remote.Compression
		}
		return out, nil
	case c.Inline != nil:
		source := DataURL([]byte(*c.Inline))
		return types.Resource{Source: &source}, nil
	}
	empty := DataURL(nil)
	return types.Resource{Source: &empty}, nil
}

func (in clStorage) others(out *types.Storage) error {
	for i, d := range in.Directories {
		node, err := d.node(fmt.Sprintf("storage.directories[%d]", i))
		if err != nil {
			return err
		}
		out.Directories = append(out.Directories, types.Directory{Node: node, DirectoryEmbedded1: types.DirectoryEmbedded1{Mode: d.Mode}})
	}
	for i, l := range in.Links {
		node, err := l.node(fmt.Sprintf("storage.links[%d]", i))
		if err != nil {
			return err
		}
		out.Links = append(out.Links, types.Link{Node: node, LinkEmbedded1: types.LinkEmbedded1{Target: &l.Target, Hard: l.Hard}})
	}
	return nil
}

func (n clNode) node(field string) (types.Node, error) {
	if n.Filesystem != "" && n.Filesystem != "root" {
		return types.Node{}, fmt.Errorf("%s.filesystem: Ignition 3 knows paths from / alone: leave it out", field)
	}
	out := types.Node{Path: n.Path, Overwrite: n.Overwrite}
	if n.User != nil {
		out.User = types.NodeUser{ID: n.User.ID, Name: n.User.Name}
	}
	if n.Group != nil {
		out.Group = types.NodeGroup{ID: n.Group.ID, Name: n.Group.Name}
	}
	return out, nil
}
