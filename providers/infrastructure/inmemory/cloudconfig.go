package inmemory

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"fairlead.dev/providers/driver/cloudconfig"
)

// A disk is what cloud-init leaves on a machine: files, and the commands that
// it runs in the end.
type disk struct {
	files    map[string]file
	commands []string
}

type file struct {
	content []byte
	mode    fs.FileMode
}

// readCloudConfig reads data as cloud-init would: templates know the variables vars.
// Modules other than write_files and runcmd do nothing to a machine without disks and
// users.
func readCloudConfig(data []byte, vars map[string]string) (disk, error) {
	c, err := cloudconfig.Reader{Variables: vars}.Read(data)
	if err != nil {
		return disk{}, fmt.Errorf("cloud-init: %s: %w", complaint(err), err)
	}
	d := disk{files: make(map[string]file)}
	for i := range c.WriteFiles {
		w := &c.WriteFiles[i]
		if err := d.write(w); err != nil {
			return disk{}, fmt.Errorf("cloud-init: write_files[%d] %s: %w", i, w.Path, err)
		}
	}
	for i, command := range c.RunCmd {
		line, err := command.Line(func(word string) string { return word })
		if err != nil {
			return disk{}, fmt.Errorf("cloud-init: runcmd[%d]: %w", i, err)
		}
		d.commands = append(d.commands, line)
	}
	return d, nil
}

// complaint is what cloud-init says first where it cannot read user data.
func complaint(err error) string {
	switch {
	case errors.Is(err, cloudconfig.ErrFormat):
		return "unhandled non-multipart userdata"
	case errors.Is(err, cloudconfig.ErrTemplate):
		return "failed to render the jinja template"
	}
	return "failed loading yaml blob"
}

func (d disk) write(w *cloudconfig.File) error {
	if w.Path == "" {
		return errors.New("no path")
	}
	mode, err := w.Mode()
	if err != nil {
		return err
	}
	content, err := w.Decoded()
	if err != nil {
		return err
	}
	if w.Append {
		content = append(bytes.Clone(d.files[w.Path].content), content...)
	}
	d.files[w.Path] = file{content: content, mode: mode}
	return nil
}
