package inmemory

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"fairlead.dev/fleet/documents"
)

// A disk is what cloud-init leaves on a machine: files, and the commands that
// it runs at last.
type disk struct {
	files    map[string]file
	commands []string
}

type file struct {
	content []byte
	mode    fs.FileMode
}

// userData is the part of a cloud-config that this cloud acts on. Other modules
// (ntp, users, disk_setup, …) do nothing to a machine without disks and users.
type userData struct {
	WriteFiles []writeFile       `json:"write_files"`
	RunCmd     []json.RawMessage `json:"runcmd"` // each a string or a list of arguments
}

type writeFile struct {
	Path        string          `json:"path"`
	Content     string          `json:"content"`
	Encoding    string          `json:"encoding"`
	Permissions json.RawMessage `json:"permissions"` // a string of octal digits, or a number
	Append      bool            `json:"append"`
}

// readCloudConfig reads data as cloud-init would: the first line says what it
// is, templates know the variables vars.
func readCloudConfig(data []byte, vars map[string]string) (disk, error) {
	text := string(data)
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(first) == "## template: jinja" {
		var err error
		if text, err = renderJinja(rest, vars); err != nil {
			return disk{}, err
		}
		first, _, _ = strings.Cut(text, "\n")
	}
	if strings.TrimSpace(first) != "#cloud-config" {
		return disk{}, fmt.Errorf("cloud-init: unhandled non-multipart userdata starting %.40q", first)
	}
	var u userData
	if err := documents.Unmarshal([]byte(text), &u, documents.BuiltLimits()); err != nil {
		return disk{}, fmt.Errorf("cloud-init: failed loading yaml blob: %w", err)
	}
	d := disk{files: make(map[string]file)}
	for i, w := range u.WriteFiles {
		if err := d.write(w); err != nil {
			return disk{}, fmt.Errorf("cloud-init: write_files[%d] %s: %w", i, w.Path, err)
		}
	}
	for i, raw := range u.RunCmd {
		var line string
		var args []string
		switch {
		case json.Unmarshal(raw, &line) == nil:
		case json.Unmarshal(raw, &args) == nil:
			line = strings.Join(args, " ")
		default:
			return disk{}, fmt.Errorf("cloud-init: runcmd[%d] is neither a string nor a list of strings", i)
		}
		d.commands = append(d.commands, line)
	}
	return d, nil
}

func (d disk) write(w writeFile) error {
	if w.Path == "" {
		return errors.New("no path")
	}
	mode, err := permissions(w.Permissions)
	if err != nil {
		return err
	}
	content, err := decodeContent(w.Encoding, w.Content)
	if err != nil {
		return err
	}
	if w.Append {
		content = append(bytes.Clone(d.files[w.Path].content), content...)
	}
	d.files[w.Path] = file{content: content, mode: mode}
	return nil
}

// permissions reads the mode of a file: YAML has read an unquoted 0640 as an
// octal number already.
func permissions(raw json.RawMessage) (fs.FileMode, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0o644, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		n, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 12)
		if err != nil {
			return 0, fmt.Errorf("permissions %q are no octal number", text)
		}
		return fs.FileMode(n), nil
	}
	var n uint16
	if err := json.Unmarshal(raw, &n); err != nil {
		return 0, fmt.Errorf("permissions %s are no number", raw)
	}
	return fs.FileMode(n), nil
}

// decodeContent undoes an encoding, by its names in cloud-init.
func decodeContent(encoding, content string) ([]byte, error) {
	data := []byte(content)
	zipped := false
	switch strings.ToLower(encoding) {
	case "", "text/plain":
		return data, nil
	case "gz", "gzip":
		zipped = true
	case "gz+base64", "gzip+base64", "gz+b64", "gzip+b64":
		zipped = true
		fallthrough
	case "b64", "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), "")); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("unknown encoding %q", encoding)
	}
	if !zipped {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxFile))
}

// maxFile bounds what a compressed file may become.
const maxFile = 16 << 20

var (
	jinjaRaw      = regexp.MustCompile(`(?s)\{%-?\s*raw\s*-?%\}(.*?)\{%-?\s*endraw\s*-?%\}`)
	jinjaToken    = regexp.MustCompile(`(?s)\{\{-?\s*(.*?)\s*-?\}\}|\{%|\{#`)
	jinjaVariable = regexp.MustCompile(`^[a-zA-Z0-9_]+(?:\.[a-zA-Z0-9_]+|\[(?:'[^']*'|"[^"]*")\])*$`)
	jinjaKey      = regexp.MustCompile(`\[['"]([^'"]*)['"]\]`)
)

// renderJinja replaces the variables of a template. Of statements it knows raw
// alone; anything else fails, and a machine with a broken template does not boot.
func renderJinja(text string, vars map[string]string) (string, error) {
	var out strings.Builder
	for len(text) > 0 {
		plain, raw := text, ""
		at := jinjaRaw.FindStringSubmatchIndex(text)
		if at != nil {
			plain, raw = text[:at[0]], text[at[2]:at[3]]
			text = text[at[1]:]
		} else {
			text = ""
		}
		var failed error
		out.WriteString(jinjaToken.ReplaceAllStringFunc(plain, func(token string) string {
			m := jinjaToken.FindStringSubmatch(token)
			if !jinjaVariable.MatchString(m[1]) {
				failed = fmt.Errorf("cloud-init: failed to render the jinja template: cannot make sense of what follows %.2q", token)
				return ""
			}
			// a['b-c'] and a.b_c are the same: cloud-init gives a name with a
			// hyphen an alias without.
			name := jinjaKey.ReplaceAllString(m[1], ".$1")
			if v, ok := vars[strings.ReplaceAll(name, "-", "_")]; ok {
				return v
			}
			return "CI_MISSING_JINJA_VAR/" + name[strings.LastIndex(name, ".")+1:] // cloud-init's own mark
		}))
		if failed != nil {
			return "", failed
		}
		out.WriteString(raw)
	}
	return out.String(), nil
}
