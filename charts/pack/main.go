// Command pack writes the Helm chart of a version as helm package does.
//
//	go run ./charts/pack -version v1.2.3 -out bin    # bin/fairlead-1.2.3.tgz
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"fairlead.dev/charts"
)

func main() {
	version := flag.String("version", "dev", "version of the program, which is the tag of its image")
	out := flag.String("out", ".", "folder to write to")
	flag.Parse()
	path, err := write(*version, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot pack the chart:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, path)
}

// write writes the chart into the folder out and returns the file.
func write(version, out string) (string, error) {
	files, err := charts.Files(version)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{Name: charts.Name + "/" + f.Name, Mode: 0o644, Size: int64(len(f.Data)), Typeflag: tar.TypeReg})
		if err != nil {
			return "", err
		}
		if _, err := w.Write(f.Data); err != nil {
			return "", err
		}
	}
	if err := errors.Join(w.Close(), z.Close(), os.MkdirAll(out, 0o755)); err != nil {
		return "", err
	}
	path := filepath.Join(out, fmt.Sprintf("%s-%s.tgz", charts.Name, charts.Version(version)))
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}
