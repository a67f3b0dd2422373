// Package api has the kinds of the provider docker, as Cluster API's provider CAPD has them: DevCluster, DevMachine,
// DevMachinePool and their templates with backend.docker, and DockerCluster, DockerMachine, DockerMachinePool and their
// templates of older versions.
package api
