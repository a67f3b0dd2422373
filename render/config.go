package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/render/substitute"
)

// ConfigFile is the file at the root of a fleet that describes it.
const ConfigFile = "fleet.yaml"

// Defaults of ConfigFile.
const (
	defaultClusters   = "clusters/**"
	defaultPruneLimit = 1
)

// Manifest is the content of ConfigFile. docs/reference/fleet-yaml.md explains it.
type Manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Clusters struct {
			Include []string `json:"include,omitempty"`
			Exclude []string `json:"exclude,omitempty"`
		} `json:"clusters"`
		Folders    []FolderManifest `json:"folders,omitempty"`
		Sources    []SourceManifest `json:"sources,omitempty"`
		Substitute map[string]Value `json:"substitute,omitempty"`
		Prune      struct {
			Enabled bool `json:"enabled,omitempty"`
			Limit   *int `json:"limit,omitempty"`
		} `json:"prune"`
		Drift  string `json:"drift,omitempty"`
		Status struct {
			Branch  string           `json:"branch,omitempty"`
			History *HistoryManifest `json:"history,omitempty"`
		} `json:"status"`
		Escrow        *EscrowManifest        `json:"escrow,omitempty"`
		Home          *HomeManifest          `json:"home,omitempty"`
		Notifications []NotificationManifest `json:"notifications,omitempty"`
		PullRequests  *PullRequestsManifest  `json:"pullRequests,omitempty"`

		Rollout *RolloutManifest `json:"rollout,omitempty"`
		Windows []WindowManifest `json:"windows,omitempty"`
		Freezes []FreezeManifest `json:"freezes,omitempty"`
	} `json:"spec"`
}

// A Value is a value for substitution: a text, an integer or a boolean, or a list or
// mapping, which is kept as JSON.
type Value string

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*v = Value(s)
		return nil
	}
	text := string(data)
	if text == "null" {
		return errors.New("a value is missing; write \"\" for an empty one")
	}
	if first := text[0]; (first == '-' || first >= '0' && first <= '9') && strings.ContainsAny(text, ".eE") {
		return fmt.Errorf("%s is not a whole number; quote it to keep the text", text)
	}
	*v = Value(text)
	return nil
}

// A ConfigError has all problems of ConfigFile.
type ConfigError struct{ Problems []fleet.Problem }

// Error implements error.
func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}

// place says of each problem on which line of the file with that content it is.
func (e *ConfigError) place(data []byte) {
	f := written(data, documents.DefaultLimits())
	for i := range e.Problems {
		e.Problems[i].Line = f.line(e.Problems[i])
	}
}

// config is a Manifest with defaults, ready for use.
type config struct {
	fleet.Config
	id       fleet.ID
	clusters globs
	folders  folderRules
	values   map[string]string
	failed   map[string]failure // pinned sources that could not be fetched, by folder
}

// fingerprint identifies the part of c that every overlay depends on.
func (c config) fingerprint() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q\n", c.id)
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		_, _ = fmt.Fprintf(h, "%q=%q\n", name, c.values[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// config reads ConfigFile of tree. Where its content is refused, the error is of kind
// Invalid and has a *ConfigError.
func (b *Builder) config(tree fs.FS) (config, error) {
	const op = "read " + ConfigFile
	data, err := kustomize.ReadFile(tree, ConfigFile, documents.DefaultLimits())
	if errors.Is(err, fs.ErrNotExist) {
		return b.checked(&Manifest{APIVersion: apiVersion, Kind: kind})
	}
	if _, refused := errors.AsType[*documents.Refusal](err); err != nil && !refused {
		return config{}, &fleet.Error{Kind: kindOfRead(err), Op: op, Err: err}
	}
	var m *Manifest
	if err == nil {
		m, err = parseManifest(data)
	}
	if err != nil {
		e := asConfigError(err)
		e.place(data)
		return config{}, &fleet.Error{Kind: fleet.Invalid, Op: op, Err: e}
	}
	c, err := b.checked(m)
	if e, ok := errors.AsType[*ConfigError](err); ok {
		e.place(data)
	}
	return c, err
}

// kindOfRead returns the kind of an error of reading a tree. A tree does not change: a path
// that cannot be read stays so.
func kindOfRead(err error) fleet.ErrorKind {
	if _, ok := errors.AsType[*fs.PathError](err); ok && fleet.KindOf(err) == fleet.Unknown {
		return fleet.Invalid
	}
	return fleet.KindOf(err)
}

const (
	apiVersion = "fairlead.dev/v1alpha1"
	kind       = "Fleet"
)

// parseManifest decodes data, strictly.
func parseManifest(data []byte) (*Manifest, error) {
	f, err := documents.Parse(data, documents.DefaultLimits())
	if err != nil {
		return nil, err
	}
	if len(f.Documents) != 1 {
		return nil, &documents.Refusal{Message: "the file must hold one document", Hint: "write apiVersion: " + apiVersion + ", kind: " + kind}
	}
	raw, err := documents.JSON(f.Documents[0])
	if err != nil {
		return nil, err
	}
	var m Manifest
	strict, err := kjson.UnmarshalStrict(raw, &m)
	if err != nil {
		return nil, err
	}
	if len(strict) > 0 {
		e := &ConfigError{}
		for _, err := range strict {
			field, hint := quoted(err.Error()), "see docs/reference/fleet-yaml.md for those that do"
			if name := documents.NearestField(field[strings.LastIndexByte(field, '.')+1:], reflect.TypeFor[Manifest]()); name != "" {
				hint = fmt.Sprintf("did you mean %q? docs/reference/fleet-yaml.md lists all fields", name)
			}
			e.Problems = append(e.Problems, configProblem(field, "this field does not exist", hint))
		}
		return nil, e
	}
	return &m, nil
}

// checked validates m and fills in defaults.
func (b *Builder) checked(m *Manifest) (config, error) {
	e := &ConfigError{}
	fail := func(field, message, hint string) {
		e.Problems = append(e.Problems, configProblem(field, message, hint))
	}
	if m.APIVersion != apiVersion {
		fail("apiVersion", fmt.Sprintf("%q is not known", m.APIVersion), "write "+apiVersion)
	}
	if m.Kind != kind {
		fail("kind", fmt.Sprintf("%q is not known", m.Kind), "write "+kind)
	}
	c := config{id: b.options.FleetID, values: map[string]string{}}
	if m.Metadata.Name != "" {
		c.id = fleet.ID(m.Metadata.Name)
		for _, text := range validation.IsDNS1123Label(m.Metadata.Name) {
			fail("metadata.name", text, "it becomes part of every ownership tag")
		}
	}
	for name, value := range m.Spec.Substitute {
		if !substitute.IsName(name) {
			fail("spec.substitute", fmt.Sprintf("%q cannot be the name of a variable", name), "use letters, digits and underscores")
		}
		c.values[name] = string(value)
	}
	c.Prune = fleet.Prune{Enabled: m.Spec.Prune.Enabled, Limit: defaultPruneLimit}
	if l := m.Spec.Prune.Limit; l != nil {
		c.Prune.Limit = *l
		if *l < 0 {
			fail("spec.prune.limit", fmt.Sprintf("%d is negative", *l), "write the number of clusters that one revision may delete")
		}
	}
	c.Drift = fleet.DriftPolicy(m.Spec.Drift)
	if c.Drift != "" && !slices.Contains(fleet.DriftPolicies(), c.Drift) {
		fail("spec.drift", fmt.Sprintf("%q is no policy", c.Drift), fmt.Sprintf("use one of %v", fleet.DriftPolicies()))
	}
	c.StatusBranch = m.Spec.Status.Branch
	if c.StatusBranch == "" {
		c.StatusBranch = fleet.DefaultStatusBranch
	}
	if !branchName.MatchString(c.StatusBranch) || strings.Contains(c.StatusBranch, "..") || strings.Contains(c.StatusBranch, "//") {
		fail("spec.status.branch", fmt.Sprintf("%q cannot be the name of a branch", c.StatusBranch), "for example "+fleet.DefaultStatusBranch)
	}
	c.StatusHistory = checkedHistory(m.Spec.Status.History, fail)
	c.Sources = checkedSources(m.Spec.Sources, fail)
	c.folders = checkedFolders(m.Spec.Folders, fail)
	c.Escrow = checkedEscrow(m.Spec.Escrow, c.StatusBranch, fail)
	c.Home = checkedHome(m.Spec.Home, fail)
	c.Notifications = checkedNotifications(m.Spec.Notifications, fail)
	c.PullRequests = checkedPullRequests(m.Spec.PullRequests, fail)
	c.Waves = fleet.Waves{Windows: checkedWindows(m.Spec.Windows, fail), Freezes: checkedFreezes(m.Spec.Freezes, fail)}
	c.Waves.Stages, c.Waves.Classes = checkedRollout(m.Spec.Rollout, fail)
	if !c.PullRequests.Planned && namesReviewers(c.Waves) {
		fail("spec.rollout", "it names reviewers, and pull requests are not enabled", "add spec.pullRequests, or remove reviewers")
	}
	var err error
	if c.clusters, err = newGlobs(m.Spec.Clusters.Include, m.Spec.Clusters.Exclude); err != nil {
		fail("spec.clusters", err.Error(), "patterns are folders relative to the root, such as clusters/prod/**")
	}
	if len(e.Problems) > 0 {
		slices.SortFunc(e.Problems, compareProblems)
		return config{}, &fleet.Error{Kind: fleet.Invalid, Op: "read " + ConfigFile, Err: e}
	}
	return c, nil
}

var branchName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*[A-Za-z0-9_-]$`)

func configProblem(field, message, hint string) fleet.Problem {
	return fleet.Problem{File: ConfigFile, Field: field, Message: message, Hint: hint}
}

// asConfigError makes a decoding error a problem with a field.
func asConfigError(err error) *ConfigError {
	if e, ok := errors.AsType[*ConfigError](err); ok {
		return e
	}
	p := configProblem("", documents.OneLine(err), "see docs/reference/fleet-yaml.md")
	if r, ok := errors.AsType[*documents.Refusal](err); ok && r.Hint != "" {
		p.Hint = r.Hint
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		p.Field = t.Field
		p.Message = fmt.Sprintf("it is a %s and should be a %s", t.Value, t.Type)
	}
	return &ConfigError{Problems: []fleet.Problem{p}}
}

// quoted returns the quoted part of s.
func quoted(s string) string {
	_, after, _ := strings.Cut(s, `"`)
	before, _, _ := strings.Cut(after, `"`)
	return before
}
