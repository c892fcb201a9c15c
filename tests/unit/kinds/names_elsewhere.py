"""What kubectl calls the kinds of other groups: group, kind, plural, short names, categories.

Every singular is the kind in lower case. `BUILT_IN` is the discovery of kube-apiserver 1.36, core
first, in the order of priority. `ADD_ONS` are those that stand in many clusters, with what lies
near quotas, bindings and clusters; all of them are custom resources.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    group: str
    kind: str
    plural: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def words(self) -> frozenset[str]:
        """By which of them people know it."""
        return frozenset({self.plural, self.singular, *self.short_names})


def _kinds(table: str) -> tuple[Kind, ...]:
    return tuple(_kind(*line.split()) for line in table.strip().splitlines())


def _kind(group: str, kind: str, plural: str, short_names: str, categories: str) -> Kind:
    return Kind(
        "" if group == "core" else group, kind, plural, _listed(short_names), _listed(categories)
    )


def _listed(cell: str) -> tuple[str, ...]:
    return () if cell == "-" else tuple(cell.split(","))


BUILT_IN: Final = _kinds("""
core Binding bindings - -
core ComponentStatus componentstatuses cs -
core ConfigMap configmaps cm -
core Endpoints endpoints ep -
core Event events ev -
core LimitRange limitranges limits -
core Namespace namespaces ns -
core Node nodes no -
core PersistentVolumeClaim persistentvolumeclaims pvc -
core PersistentVolume persistentvolumes pv -
core Pod pods po all
core PodTemplate podtemplates - -
core ReplicationController replicationcontrollers rc all
core ResourceQuota resourcequotas quota -
core Secret secrets - -
core ServiceAccount serviceaccounts sa -
core Service services svc all
apiregistration.k8s.io APIService apiservices - api-extensions
apps ControllerRevision controllerrevisions - -
apps DaemonSet daemonsets ds all
apps Deployment deployments deploy all
apps ReplicaSet replicasets rs all
apps StatefulSet statefulsets sts all
events.k8s.io Event events ev -
authentication.k8s.io SelfSubjectReview selfsubjectreviews - -
authentication.k8s.io TokenReview tokenreviews - -
authorization.k8s.io LocalSubjectAccessReview localsubjectaccessreviews - -
authorization.k8s.io SelfSubjectAccessReview selfsubjectaccessreviews - -
authorization.k8s.io SelfSubjectRulesReview selfsubjectrulesreviews - -
authorization.k8s.io SubjectAccessReview subjectaccessreviews - -
autoscaling HorizontalPodAutoscaler horizontalpodautoscalers hpa all
batch CronJob cronjobs cj all
batch Job jobs - all
certificates.k8s.io CertificateSigningRequest certificatesigningrequests csr -
networking.k8s.io IngressClass ingressclasses - -
networking.k8s.io Ingress ingresses ing -
networking.k8s.io IPAddress ipaddresses ip -
networking.k8s.io NetworkPolicy networkpolicies netpol -
networking.k8s.io ServiceCIDR servicecidrs - -
policy PodDisruptionBudget poddisruptionbudgets pdb -
rbac.authorization.k8s.io ClusterRoleBinding clusterrolebindings - -
rbac.authorization.k8s.io ClusterRole clusterroles - -
rbac.authorization.k8s.io RoleBinding rolebindings - -
rbac.authorization.k8s.io Role roles - -
storage.k8s.io CSIDriver csidrivers - -
storage.k8s.io CSINode csinodes - -
storage.k8s.io CSIStorageCapacity csistoragecapacities - -
storage.k8s.io StorageClass storageclasses sc -
storage.k8s.io VolumeAttachment volumeattachments - -
storage.k8s.io VolumeAttributesClass volumeattributesclasses vac -
admissionregistration.k8s.io MutatingAdmissionPolicy mutatingadmissionpolicies - api-extensions
admissionregistration.k8s.io MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings - api-extensions
admissionregistration.k8s.io MutatingWebhookConfiguration mutatingwebhookconfigurations - api-extensions
admissionregistration.k8s.io ValidatingAdmissionPolicy validatingadmissionpolicies - api-extensions
admissionregistration.k8s.io ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings - api-extensions
admissionregistration.k8s.io ValidatingWebhookConfiguration validatingwebhookconfigurations - api-extensions
apiextensions.k8s.io CustomResourceDefinition customresourcedefinitions crd,crds api-extensions
scheduling.k8s.io PriorityClass priorityclasses pc -
coordination.k8s.io Lease leases - -
node.k8s.io RuntimeClass runtimeclasses - -
discovery.k8s.io EndpointSlice endpointslices - -
resource.k8s.io DeviceClass deviceclasses - -
resource.k8s.io ResourceClaim resourceclaims - -
resource.k8s.io ResourceClaimTemplate resourceclaimtemplates - -
resource.k8s.io ResourceSlice resourceslices - -
flowcontrol.apiserver.k8s.io FlowSchema flowschemas - -
flowcontrol.apiserver.k8s.io PriorityLevelConfiguration prioritylevelconfigurations - -
""")

ADD_ONS: Final = _kinds("""
argoproj.io Application applications app,apps -
argoproj.io ApplicationSet applicationsets appset,appsets -
argoproj.io AppProject appprojects appproj,appprojs -
argoproj.io Workflow workflows wf -
argoproj.io Rollout rollouts ro -
capsule.clastix.io Tenant tenants tnt -
cert-manager.io Certificate certificates cert,certs cert-manager
cert-manager.io CertificateRequest certificaterequests cr,crs cert-manager
cert-manager.io Issuer issuers - cert-manager
cert-manager.io ClusterIssuer clusterissuers - cert-manager
cluster.x-k8s.io Cluster clusters cl cluster-api
cluster.x-k8s.io ClusterClass clusterclasses cc cluster-api
cluster.x-k8s.io Machine machines ma cluster-api
cluster.x-k8s.io MachineDeployment machinedeployments md cluster-api
cluster.x-k8s.io MachineHealthCheck machinehealthchecks mhc,mhcs cluster-api
cluster.x-k8s.io MachinePool machinepools mp cluster-api
cluster.x-k8s.io MachineSet machinesets ms cluster-api
hnc.x-k8s.io HierarchicalResourceQuota hierarchicalresourcequotas hrq -
kueue.x-k8s.io ClusterQueue clusterqueues cq -
kueue.x-k8s.io LocalQueue localqueues queue,queues,lq -
kueue.x-k8s.io ResourceFlavor resourceflavors flavor,flavors,rf -
kueue.x-k8s.io Workload workloads wl -
operators.coreos.com Subscription subscriptions sub,subs olm
quota.openshift.io AppliedClusterResourceQuota appliedclusterresourcequotas - -
quota.openshift.io ClusterResourceQuota clusterresourcequotas clusterquota -
scheduling.sigs.k8s.io ElasticQuota elasticquotas eq,eqs -
scheduling.volcano.sh Queue queues q,queue-v1beta1 -
servicebinding.io ServiceBinding servicebindings - -
snapshot.storage.k8s.io VolumeSnapshot volumesnapshots vs -
""")

GARDENER: Final = _kinds("""
core.gardener.cloud CloudProfile cloudprofiles cprofile,cpfl -
core.gardener.cloud Quota quotas squota -
core.gardener.cloud SecretBinding secretbindings sb -
core.gardener.cloud Shoot shoots - -
""")
"""This group's successor elsewhere: the same words, on purpose."""

KUBE_BIND: Final = Kind(
    "kube-bind.io", "APIServiceBinding", "apiservicebindings", ("sb",), ("kube-bindings",)
)
"""The one add-on found that takes a short name of this group's."""
