package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A seed is what cloud-init's NoCloud reads of a disk of its own.
// Source: cloud-init, data sources, NoCloud.
type seed struct {
	userData, metaData, networkConfig []byte
}

// maker is the program that makes the disk: it is in Debian's package of that name.
const maker = "xorriso"

// write makes path an ISO 9660 disk that cloud-init finds by its label, with the names of
// files as Rock Ridge keeps them.
func (s seed) write(ctx context.Context, path string) error {
	dir, err := os.MkdirTemp("", "seed-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, content := range map[string][]byte{"user-data": s.userData, "meta-data": s.metaData, "network-config": s.networkConfig} {
		// User data holds keys of CAs: no one else is to read it here.
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	out, err := exec.CommandContext(ctx, maker, "-as", "mkisofs", "-quiet", "-volid", "cidata", "-rational-rock", "-output", path, dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make a disk for cloud-init with %s: %w: %s", maker, err, out)
	}
	return nil
}
