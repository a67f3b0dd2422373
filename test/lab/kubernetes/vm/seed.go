package vm

import (
	"os"
	"path/filepath"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// A seed is what cloud-init's NoCloud reads of a disk of its own.
// Source: cloud-init, data sources, NoCloud.
type seed struct {
	userData, metaData, networkConfig []byte
}

// seedSize bounds a disk with a seed, in bytes.
const seedSize = 4 << 20

// write makes path an ISO 9660 disk that cloud-init finds by its label.
func (s seed) write(path string) error {
	disk, err := file.CreateFromPath(path, seedSize)
	if err != nil {
		return err
	}
	defer func() { _ = disk.Close() }()
	iso, err := iso9660.Create(disk, seedSize, 0, 2048, "")
	if err != nil {
		return err
	}
	defer func() { _ = iso.Close() }()
	for name, content := range map[string][]byte{"user-data": s.userData, "meta-data": s.metaData, "network-config": s.networkConfig} {
		// What is in the workspace goes onto the disk, and nobody else is to read it before.
		if err := os.WriteFile(filepath.Join(iso.Workspace(), name), content, 0o600); err != nil {
			return err
		}
	}
	return iso.Finalize(iso9660.FinalizeOptions{VolumeIdentifier: "cidata", RockRidge: true})
}
