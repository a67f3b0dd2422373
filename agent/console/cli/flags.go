package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

// environmentPrefix begins the environment variables of flags: --ssh-key is
// FAIRLEAD_SSH_KEY.
const environmentPrefix = "FAIRLEAD_"

// confirmation marks flags that no environment variable can set.
const confirmation = "fairlead.dev/confirmation"

// confirms declares flags of cmd that a person gives for one command. They agree to what
// cannot be undone, show secrets, or say that something is gone. No environment variable
// sets them, since it would count for every other command as well.
func confirms(cmd *cobra.Command, names ...string) { declare(cmd, confirmation, names) }

// setting marks switches that an environment variable can set.
const setting = "fairlead.dev/setting"

// verbatim marks flags whose values are never names of files.
const verbatim = "fairlead.dev/verbatim"

// settings declares switches of cmd that do no harm where an environment variable sets
// them. Each switch is declared by confirms or by settings.
func settings(cmd *cobra.Command, names ...string) { declare(cmd, setting, names) }

func declare(cmd *cobra.Command, as string, names []string) {
	for _, name := range names {
		if err := cmd.Flags().SetAnnotation(name, as, nil); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// declared reports whether f has the annotation as.
func declared(f *pflag.Flag, as string) bool {
	_, ok := f.Annotations[as]
	return ok
}

// environment sets each flag of cmd that is not on the command line from its environment
// variable. It refuses the variable of a flag that confirms.
func environment(cmd *cobra.Command, _ []string) error {
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := environmentName(f.Name)
		value, ok := os.LookupEnv(name)
		if !ok || failed != nil {
			return
		}
		if declared(f, confirmation) {
			if value != "" {
				failed = &usageError{fmt.Errorf("environment variable %s is set: set --%s on the command line only, and remove the variable", name, f.Name)}
			}
			return
		}
		if f.Changed {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			failed = &usageError{fmt.Errorf("environment variable %s: %w", name, err)}
		}
	})
	return failed
}

func environmentName(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// sourceFlags are the flags of commands that read a fleet.
type sourceFlags struct {
	cmd       *cobra.Command
	settings  wiring.Settings
	branch    string
	base      string                        // revision to compare with
	terms     bool                          // a plan compares with what was applied last
	providers map[string]map[string]*string // settings of providers, by provider and name
	gone      fleet.Key                     // cluster that is gone, and is planned to be created again
	recreate  string
	lastSeen  bool // plan from the status branch, without requests to infrastructure
}

// recreating returns f for a plan that creates k again.
func (f *sourceFlags) recreating(k fleet.Key, request string) *sourceFlags {
	out := *f
	out.gone, out.recreate = k, request
	return &out
}

// pathUsage is the help of --path.
const pathUsage = "folder of the fleet in the source; other folders are ignored (default: the root)"

// pathInFleetUsage is the help of --path of commands that accept a part of a fleet.
const pathInFleetUsage = "folder of the fleet in the source, or a folder or file in the fleet. The fleet is the nearest parent folder with a fleet.yaml or a folder clusters"

// partOfFleet has --path of cmd name a part of a fleet as well.
func partOfFleet(cmd *cobra.Command) {
	f := cmd.Flags().Lookup("path")
	f.Usage = pathInFleetUsage
	delete(f.Annotations, shared) // it is not the one that commands share
}

// addSource adds the flags that say where a fleet is and how to reach it.
func addSource(cmd *cobra.Command, built wiring.Built) *sourceFlags {
	defer share(cmd)()
	f := &sourceFlags{cmd: cmd, settings: wiring.Settings{Built: built}}
	s, c, fs := &f.settings, &f.settings.Credentials, cmd.Flags()
	fs.StringVar(&s.Source, "source", "", "repository URL, folder, or oci://REGISTRY/REPOSITORY for artifacts of flux push artifact")
	fs.StringVar(&s.Ref, "ref", "", "branch, tag or commit; semver:RANGE, or a tag with *, for the highest matching tag (default: the default branch). For a registry: tag, range of tags, or digest sha256:… (default: latest)")
	fs.StringVar(&s.Path, "path", "", pathUsage)
	fs.StringVar(&s.FleetID, "fleet-id", "", "name of the fleet if fleet.yaml has none (default: derived from the source)")
	fs.StringVar(&c.Dir, "credentials", "", "folder of credentials for the repository. File names are the keys of a Flux Secret: username, password, bearerToken or token, identity, identity.password, known_hosts, ca.crt, tls.crt with tls.key, githubAppID with githubAppInstallationID or githubAppInstallationOwner and githubAppPrivateKey, githubAppBaseURL, proxy, and .dockerconfigjson for a registry")
	fs.StringVar(&c.Username, "username", "", "user name for the repository")
	fs.StringVar(&c.TokenFile, "token-file", "", "file with a token for the repository")
	fs.StringVar(&c.BearerFile, "bearer-token-file", "", "file with a bearer token")
	fs.StringVar(&c.CertFile, "client-cert", "", "client certificate for the repository (PEM)")
	fs.StringVar(&c.CertKeyFile, "client-key", "", "private key of that certificate (PEM)")
	fs.StringVar(&c.Proxy, "proxy", "", "proxy for the repository: http://, https:// or socks5://HOST:PORT. Put a user and password into the file proxy of --credentials (default: HTTPS_PROXY)")
	fs.StringVar(&c.DockerConfigFile, "docker-config", "", "Docker configuration (config.json) with credentials for a registry; credential helpers are not run")
	fs.BoolVar(&s.PlainHTTP, "plain-http", false, "use plain HTTP for a registry. Default for a registry on this computer, unless --ca-file or --client-cert is set")
	settings(cmd, "plain-http")
	fs.StringVar(&c.PasswordFile, "password-file", "", "file with the password of the user")
	fs.StringVar(&c.SSHKeyFile, "ssh-key", "", "SSH private key file")
	fs.StringVar(&c.PassphraseFile, "ssh-passphrase-file", "", "file with the passphrase of the key")
	fs.StringVar(&c.KnownHostsFile, "known-hosts", "", "known_hosts file, required for SSH")
	fs.StringArrayVar(&s.AgeIdentityFiles, "age-identity-file", nil, "file or folder with additional age identities that decrypt files of the fleet; may be repeated")
	fs.StringVar(&s.SopsProgram, "sops-program", "", "sops program (3.9 or newer), name or path, for files that are encrypted for PGP, Vault or a cloud KMS (default: none; such files are refused)")
	fs.StringVar(&c.CAFile, "ca-file", "", "additional CA bundle for https (PEM)")
	fs.StringArrayVar(&s.TrustedKeys, "trusted-keys", nil, "file or folder with public keys: OpenPGP (armored), SSH (authorized_keys or allowed signers). Follows only commits signed by one of them, all commits since the last followed one, or a signed tag. For a registry, PEM: follows only newer artifacts signed with cosign; may be repeated")
	fs.BoolVar(&s.TrustMerges, "trust-merges", false, "with --trusted-keys, accept a signed merge for all commits that it merges")
	settings(cmd, "trust-merges")
	needs(cmd, "trusted-keys", "trust-merges")
	declare(cmd, verbatim, []string{"ref", "path", "fleet-id", "username"})
	fs.Var((*allowFlag)(&s.AllowedSources), "allow-source", "URL prefix of sources that fleet.yaml may pin, such as https://git.example.com/platform, optionally with =FOLDER of credentials like --credentials. The longest prefix counts; may be repeated (default: none)")
	return f
}

// addFolders adds the flag that replaces pinned sources by local folders.
func (f *sourceFlags) addFolders(cmd *cobra.Command) {
	cmd.Flags().StringToStringVar(&f.settings.SourceFolders, "source-folder", nil, "local folder in place of a pinned source, NAME=FOLDER; may be repeated")
	cmd.Flags().Lookup("source-folder").DefValue = "" // none, which pflag shows as []
}

// An allowFlag is a list of sources that may be pinned.
type allowFlag []wiring.AllowedSource

// String implements pflag.Value.
func (a *allowFlag) String() string {
	texts := make([]string, len(*a))
	for i, s := range *a {
		texts[i] = s.Prefix
	}
	return strings.Join(texts, ",")
}

// Set implements pflag.Value.
func (a *allowFlag) Set(text string) error {
	s, err := wiring.ParseAllowedSource(text)
	if err == nil {
		*a = append(*a, s)
	}
	return err
}

// GetSlice returns the values in the form of the command line.
func (a *allowFlag) GetSlice() []string {
	texts := make([]string, len(*a))
	for i, s := range *a {
		if texts[i] = s.Prefix; s.Credentials != "" {
			texts[i] += "=" + s.Credentials
		}
	}
	return texts
}

// Type implements pflag.Value.
func (a *allowFlag) Type() string { return "url" }

// addStatus adds the flags that say where the status branch is.
func (f *sourceFlags) addStatus(cmd *cobra.Command) {
	defer share(cmd)()
	cmd.Flags().StringVar(&f.branch, "status-branch", "", "name of the status branch (default: from fleet.yaml, or fairlead/status)")
	declare(cmd, verbatim, []string{"status-branch"})
	cmd.Flags().StringVar(&f.settings.StatusCredentials.Dir, "status-credentials", "", "folder like --credentials, for the status branch (default: the credentials of the source)")
	cmd.Flags().StringVar(&f.settings.StatusRepository, "status-repository", "", "repository or folder of the status branch, required for a source in a registry (default: the source)")
	cmd.Flags().StringArrayVar(&f.settings.RequestKeys, "request-keys", nil, "public keys like --trusted-keys, of people who may make requests and of the agents of the fleet. Requests, scales and changes of owner without their signature are ignored. Must include the key of --signing-key; may be repeated (default: anyone with push access to the status branch may make requests)")
}

// addSigning adds the flag that says what signs commits to the status branch.
func (f *sourceFlags) addSigning(cmd *cobra.Command) {
	defer share(cmd)()
	cmd.Flags().StringVar(&f.settings.SigningKey, "signing-key", "", "private key (SSH or OpenPGP) to sign requests and commits to the status branch: a file, or a folder with identity or git.asc, and its passphrase in identity.password or passphrase")
}

// addSecrets adds the flag that says where secrets are.
func (f *sourceFlags) addSecrets(cmd *cobra.Command) {
	defer share(cmd)()
	cmd.Flags().StringVar(&f.settings.Secrets, "secrets", "", "secret store: a folder of encrypted files, kubernetes (the cluster of this process), or kubernetes:KUBECONFIG (default: a folder for the source in ~/.local/state/fairlead)")
}

// addProviders adds the flags of the infrastructure providers.
func (f *sourceFlags) addProviders(cmd *cobra.Command) {
	defer share(cmd)()
	f.providers = make(map[string]map[string]*string)
	for _, p := range f.settings.Built.Providers {
		f.providers[p.Name] = make(map[string]*string)
		for _, s := range p.Settings {
			f.providers[p.Name][s.Name] = cmd.Flags().String(p.Name+"-"+s.Name, "", s.Usage)
		}
	}
}

// from returns the settings with the source that args name. Without one, the source is the
// current folder.
func (f *sourceFlags) from(args []string, log *slog.Logger) wiring.Settings {
	s := f.settings
	if len(args) > 0 {
		s.Source = args[0]
	}
	if s.Source == "" {
		s.Source = "."
	}
	s.Path = strings.TrimSuffix(strings.TrimPrefix(s.Path, "./"), "/")
	s.Log = log
	if f.cmd != nil {
		s.RenderCommand = renderCommand(f.cmd)
		s.RenderCacheAsked = f.cmd.Flags().Changed("render-cache")
		if s.RenderCache == "none" {
			s.RenderCache = ""
		}
	}
	s.Providers = make(map[string]map[string]string)
	for name, settings := range f.providers {
		s.Providers[name] = make(map[string]string)
		for key, value := range settings {
			s.Providers[name][key] = *value
		}
	}
	return s
}

// quiet returns the logger of commands other than agent: their output has what matters to
// people.
func quiet(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelError + 1}))
}

// newLogger returns the agent's logger.
func newLogger(w io.Writer, form, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, &usageError{fmt.Errorf("invalid --log-level %q: must be one of debug, info, warn, error", level)}
	}
	o := &slog.HandlerOptions{Level: l, ReplaceAttr: boundedAttr}
	switch form {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, &usageError{fmt.Errorf("invalid --log-format %q: must be one of text, json", form)}
}

// maxLogged bounds each value in the log, in bytes. Texts of servers are logged in full up
// to that. Both formats escape control characters.
const maxLogged = 8 << 10

// boundedAttr cuts a value that is longer than maxLogged.
func boundedAttr(_ []string, a slog.Attr) slog.Attr {
	var text string
	switch v := a.Value.Any().(type) {
	case string:
		text = v
	case error:
		text = v.Error()
	case fmt.Stringer:
		text = v.String()
	default:
		return a
	}
	if len(text) > maxLogged {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:maxLogged], "") + "…")
	}
	return a
}
