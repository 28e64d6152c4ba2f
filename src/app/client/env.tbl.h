/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.tbl.h - the variables that identify the job and rank of a process, once. Apart from aon's own,
 * no other variable of a program is read, and only the values below are kept.
 *
 *	ENV(what, "VARIABLE")      the first one that is set counts
 *
 * what  RANK, WORLD (ranks of the job), LOCAL (rank on this node): whole numbers
 *       JOB, NODE, POD, NAMESPACE, ACCOUNT: a text, up to 47, 31, 71, 71 and 39 of a-z A-Z 0-9 . _ : -
 *       GPUS: the same with commas and slashes, up to 95
 */
/* clang-format off */
ENV(RANK,  "RANK")                        /* torchrun, and what else starts torch.distributed */
ENV(RANK,  "OMPI_COMM_WORLD_RANK")        /* Open MPI */
ENV(RANK,  "PMIX_RANK")
ENV(RANK,  "PMI_RANK")                    /* MPICH, Intel MPI */
ENV(RANK,  "SLURM_PROCID")
ENV(RANK,  "JOB_COMPLETION_INDEX")        /* indexed jobs of Kubernetes */
ENV(WORLD, "WORLD_SIZE")
ENV(WORLD, "OMPI_COMM_WORLD_SIZE")
ENV(WORLD, "PMI_SIZE")
ENV(WORLD, "SLURM_NTASKS")
ENV(LOCAL, "LOCAL_RANK")
ENV(LOCAL, "OMPI_COMM_WORLD_LOCAL_RANK")
ENV(LOCAL, "MPI_LOCALRANKID")
ENV(LOCAL, "SLURM_LOCALID")
ENV(JOB,   "AON_JOB")
ENV(JOB,   "SLURM_JOB_ID")
ENV(JOB,   "PBS_JOBID")
ENV(JOB,   "LSB_JOBID")
ENV(JOB,   "OMPI_MCA_ess_base_jobid")
ENV(JOB,   "TORCHELASTIC_RUN_ID")
ENV(JOB,   "JOB_NAME")
ENV(NODE,  "SLURMD_NODENAME")
ENV(NODE,  "NODE_NAME")                   /* as Kubernetes gives it to pods */
ENV(POD,   "POD_NAME")                    /* the same: fieldRef metadata.name */
ENV(POD,   "MY_POD_NAME")
ENV(NAMESPACE, "POD_NAMESPACE")
ENV(NAMESPACE, "MY_POD_NAMESPACE")
ENV(GPUS,  "CUDA_VISIBLE_DEVICES")
ENV(GPUS,  "NVIDIA_VISIBLE_DEVICES")      /* as device plugins tell containers */
ENV(GPUS,  "SLURM_JOB_GPUS")
ENV(ACCOUNT, "SLURM_JOB_ACCOUNT")
/* clang-format on */
#undef ENV
