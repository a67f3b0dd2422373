// Package charts holds the agent's Helm chart, for the program to install
// itself with.
package charts

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Name is the name of the chart, and of its folder.
const Name = "fairlead"

//go:embed all:fairlead
var files embed.FS

// A File is one file of the chart. Name is its path in the chart, such as
// "templates/deployment.yaml".
type File struct {
	Name string
	Data []byte
}

// Files returns the files of the chart in the version of the program, sorted by
// name. version is also the tag of the image that the chart names if no
// other is set. The error says that version cannot be one.
func Files(version string) ([]File, error) {
	var all []File
	err := fs.WalkDir(files, Name, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		inside := strings.TrimPrefix(name, Name+"/")
		if inside == ".helmignore" || strings.HasPrefix(inside, "alerts/tests/") { // as .helmignore says
			return nil
		}
		data, err := files.ReadFile(name)
		all = append(all, File{Name: inside, Data: data})
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == "Chart.yaml" {
			all[i].Data, err = versioned(all[i].Data, version)
		}
	}
	return all, err
}

var (
	versionLine    = regexp.MustCompile(`(?m)^version: .*$`)
	appVersionLine = regexp.MustCompile(`(?m)^appVersion: .*$`)
	tag            = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
)

// versioned sets the versions in Chart.yaml.
func versioned(chart []byte, version string) ([]byte, error) {
	if !tag.MatchString(version) {
		return nil, fmt.Errorf("%q cannot be the version of a chart and the tag of an image", version)
	}
	chart = versionLine.ReplaceAllLiteral(chart, []byte("version: "+Version(version)))
	chart = appVersionLine.ReplaceAllLiteral(chart, fmt.Appendf(nil, "appVersion: %q", version))
	if !bytes.Contains(chart, []byte("appVersion: \""+version)) {
		return nil, fmt.Errorf("%s has no line appVersion", path.Join(Name, "Chart.yaml"))
	}
	return chart, nil
}

// semantic is a version as semver.org has it, which Helm asks of charts.
var semantic = regexp.MustCompile(`^v?((0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?)$`)

// Version returns the version of the chart that belongs to the program of
// version: the same where that is semantic, such as v1.2.3, else one that comes
// before all of them, such as 0.0.0-g1a2b3c4 for the commit 1a2b3c4.
func Version(version string) string {
	if m := semantic.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	unfit := regexp.MustCompile(`[^0-9A-Za-z-]+`)
	text := strings.Trim(unfit.ReplaceAllString(version, "-"), "-")
	if text == "" {
		text = "dev"
	}
	if text[0] >= '0' && text[0] <= '9' { // a number must not begin with 0
		text = "g" + text
	}
	return "0.0.0-" + text
}
