package decode

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// helmChartProxy is the kind of the addon provider for Helm, with its fields.
// Source: cluster-api-addon-provider-helm, api/v1alpha1.
type helmChartProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   helmChartProxySpec `json:"spec"`
	Status struct{}           `json:"status"`
}

type helmChartProxySpec struct {
	ClusterSelector   metav1.LabelSelector `json:"clusterSelector"`
	ChartName         string               `json:"chartName"`
	RepoURL           string               `json:"repoURL"`
	ReleaseName       string               `json:"releaseName"`
	ReleaseNamespace  string               `json:"namespace"`
	Version           string               `json:"version"`
	ValuesTemplate    string               `json:"valuesTemplate"`
	ReconcileStrategy string               `json:"reconcileStrategy"`
	Options           helmOptions          `json:"options"`
	Credentials       *helmCredentials     `json:"credentials"`
	TLSConfig         *helmTLSConfig       `json:"tlsConfig"`
}

type helmOptions struct {
	DisableHooks             bool                 `json:"disableHooks"`
	Wait                     bool                 `json:"wait"`
	WaitForJobs              bool                 `json:"waitForJobs"`
	DependencyUpdate         bool                 `json:"dependencyUpdate"`
	Timeout                  *metav1.Duration     `json:"timeout"`
	SkipCRDs                 bool                 `json:"skipCRDs"`
	SubNotes                 bool                 `json:"options"` // so it is called
	DisableOpenAPIValidation bool                 `json:"disableOpenAPIValidation"`
	Atomic                   bool                 `json:"atomic"`
	Install                  helmInstallOptions   `json:"install"`
	Upgrade                  helmUpgradeOptions   `json:"upgrade"`
	Uninstall                helmUninstallOptions `json:"uninstall"`
	EnableClientCache        bool                 `json:"enableClientCache"`
	TakeOwnership            bool                 `json:"takeOwnership"`
}

type helmInstallOptions struct {
	CreateNamespace *bool `json:"createNamespace"`
	IncludeCRDs     bool  `json:"includeCRDs"`
}

type helmUpgradeOptions struct {
	Force                bool `json:"force"`
	ResetValues          bool `json:"resetValues"`
	ReuseValues          bool `json:"reuseValues"`
	ResetThenReuseValues bool `json:"resetThenReuseValues"`
	Recreate             bool `json:"recreate"`
	MaxHistory           *int `json:"maxHistory"`
	CleanupOnFail        bool `json:"cleanupOnFail"`
}

type helmUninstallOptions struct {
	KeepHistory bool   `json:"keepHistory"`
	Description string `json:"description"`
}

type helmCredentials struct {
	Secret corev1.SecretReference `json:"secret"`
	Key    string                 `json:"key"`
}

type helmTLSConfig struct {
	CASecret              *corev1.SecretReference `json:"caSecret"`
	InsecureSkipTLSVerify bool                    `json:"insecureSkipTLSVerify"`
}
