package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/moby/moby/client"
)

// A File is one that is written into a container.
type File struct {
	Path    string // without the leading slash; a folder's ends with one
	Mode    int64
	Content []byte
	Link    string // the target, of a symbolic link
}

// Write writes files into a container, which need not run.
func (c *Client) Write(ctx context.Context, id string, files []File) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.Path, Mode: f.Mode, Size: int64(len(f.Content)), Typeflag: tar.TypeReg}
		if f.Link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		}
		if strings.HasSuffix(f.Path, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := errors.Join(w.WriteHeader(h), ignoreCount(w.Write(f.Content))); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return do(ctx, c.moby.CopyToContainer, id, archiveTo("/", &b))
}

func ignoreCount(_ int, err error) error { return err }

func archiveTo(folder string, archive io.Reader) client.CopyToContainerOptions {
	return client.CopyToContainerOptions{DestinationPath: folder, Content: archive, AllowOverwriteDirWithFile: true}
}

// Read returns the files at path of a container, by their base names. If the path does not exist, the error is one
// for IsMissing.
func (c *Client) Read(ctx context.Context, id, from string) (map[string][]byte, error) {
	got, err := askOf(ctx, c.moby.CopyFromContainer, id, client.CopyFromContainerOptions{SourcePath: from})
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte)
	for r := tar.NewReader(got.Content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, wrongAnswer()
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if out[path.Base(h.Name)], err = io.ReadAll(r); err != nil {
			return nil, wrongAnswer()
		}
	}
}

// CopyImages copies images of the host into a folder of a container, as the files of an archive that "docker save"
// writes. The folder has to be there.
func (c *Client) CopyImages(ctx context.Context, id, folder string, images []string) error {
	from, err := send(ctx, &outcome{stream: true, rules: rules}, func(ctx context.Context) (client.ImageSaveResult, error) {
		return c.moby.ImageSave(ctx, images)
	})
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = send(ctx, &outcome{stream: true, rules: rules}, func(ctx context.Context) (client.CopyToContainerResult, error) {
		return c.moby.CopyToContainer(ctx, id, archiveTo(folder, from))
	})
	return err
}
