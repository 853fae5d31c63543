"""Models one GPU as frozen sections of plain numbers, each section one part of the chip.
Leaves out how the file is read (gpusim.arch.loader) and what the numbers do (gpusim.engine)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from gpusim.arch.instructions import InstructionEntry, InstructionTable, TensorReads, wgmma_columns
from gpusim.arch.provenance import Source
from gpusim.arch.section import Section

__all__ = ["GpuSpec"]


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError("must be a power of two")
    return value


Count = Annotated[int, Field(gt=0, strict=True)]
Cycles = Annotated[int, Field(ge=0, strict=True)]
Amount = Annotated[int, Field(ge=0, strict=True)]
PowerOfTwo = Annotated[int, Field(gt=0, strict=True), AfterValidator(_power_of_two)]
Rate = Annotated[float, Field(gt=0, strict=True)]


class Clock(Section):
    sm_mhz: Rate = Field(description="Maximum SM clock; rates and latencies of L2 and DRAM are given in its cycles.")
    tensor_pct: Rate = Field(le=100, description="Clock of SMs with tensor instructions, in per cent of the maximum.")
    memory_mhz: Rate = Field(description="Maximum memory clock.")


class Sm(Section):
    count: Count = Field(description="Streaming multiprocessors of the chip.")
    sub_partitions: Count = Field(description="Warp schedulers of an SM, each with its own pipes.")
    threads_per_warp: Count = Field(description="Lanes of a warp.")
    max_warps: Count = Field(description="Resident warps of an SM.")
    max_ctas: Count = Field(description="Resident CTAs of an SM.")
    max_threads: Count = Field(description="Resident threads of an SM.")
    max_threads_per_cta: Count = Field(description="Threads of the largest CTA.")
    registers: Count = Field(description="32-bit registers of an SM.")
    max_registers_per_thread: Count = Field(description="32-bit registers an instruction can name.")
    register_allocation_unit: Count = Field(description="Registers of a warp are handed out in multiples of this.")
    warp_allocation_granularity: Count = Field(description="An SM has registers for a multiple of this many warps.")
    shared_bytes: Count = Field(description="Largest shared memory of an SM.")
    shared_bytes_per_cta_max: Count = Field(description="Largest dynamic shared memory of a CTA (opt-in).")
    shared_reserved_bytes_per_cta: Amount = Field(description="Shared memory the driver keeps for every CTA.")
    shared_allocation_unit_bytes: Count = Field(description="Shared memory is handed out in multiples of this.")
    shared_carveouts_kib: tuple[Amount, ...] = Field(description="Sizes the shared part of the L1 memory can take.")

    @model_validator(mode="after")
    def _largest_cta_fits(self) -> Sm:
        if self.shared_bytes_per_cta_max + self.shared_reserved_bytes_per_cta > self.shared_bytes:
            raise ValueError("shared_bytes_per_cta_max and what is reserved exceed shared_bytes")
        return self


class Issue(Section):
    policy: Literal["gto", "lrr", "oldest", "youngest", "grr"] = Field(
        description="Which ready warp a scheduler prefers; grr: the last one, but not where one asks for the tensor "
                    "pipe or the memory queue; the oldest CTA's; of its warps the one whose pipe has taken most since "
                    "its own last instruction, the last one last; who comes just in time keeps the tensor pipe.")
    turns_counted: Amount = Field(default=0, description="Under grr: instructions of other warps up to which a warp "
                                  "that waits for their pipe counts; of those that count the same the highest goes.")
    width: Count = Field(description="Warp instructions a sub-partition issues per cycle.")
    constant_load_cycles: Count = Field(description="Cycles between two LDC of an SM.")
    taken_branch_cycles: Count = Field(description="Cycles from a taken branch to the warp's next instruction.")
    wide_pass_cycles: Cycles = Field(default=0, description="Cycles until the second pass of an IMAD.WIDE.")
    wide_after_tensor_cycles: Cycles = Field(
        default=0, description="Cycles from a tensor instruction to the next IMAD.WIDE; 0: no effect.")
    wide_between_tensor_cycles: Cycles = Field(
        default=0, description="The same for one that is ready before the tensor instruction reads its last operands.")
    tensor_last_read_cycles: Cycles = Field(default=0, description="When that is.")
    tensor_after_wide_cycles: Cycles = Field(default=0, description="Cycles from an IMAD.WIDE to a tensor instruction.")
    tensor_reads: TensorReads = Field(default=TensorReads(),
                                      description="Of tensor instructions without reads of their own.")


class Mio(Section):
    queue_depth: Count = Field(le=32, description="Memory instructions a sub-partition may have waiting for the LSU.")
    queue_return_cycles: Cycles = Field(description="From the cycle after it has taken one to when its place is free.")
    buffer_entries: Count = Field(ge=8, le=32, description="Instructions that the LSU has taken, in order.")
    copy_buffer_entries: Count = Field(ge=2, le=8, description="Places that an LDGSTS takes there, until it leaves the "
                                                               "queue for the tag stage.")
    buffer_return_cycles: Cycles = Field(description="From when such a place is left to when the LSU takes what waits "
                                                     "for it.")
    store_lead_cycles: Cycles = Field(description="So long after what it stores is read an STS needs its place.")
    kept_registers: Count = Field(ge=4, le=32, description="32-bit registers of a warp that stores store: the LSU has "
                                  "them until they have passed the data stage.")
    kept_return_cycles: Cycles = Field(description="From then to when the LSU takes what waits for them.")
    waiting_accesses: Count = Field(le=8, description="Instructions that have left the buffer and wait for a path "
                                    "through the data stage; the next one waits at its front, and all behind it.")
    waiting_return_cycles: Cycles = Field(description="From when one has its path to when the next one can wait there.")
    waiting_stores: Count = Field(le=32, description="Stores to global memory that have left the buffer and wait for "
                                  "the data stage; loads pass those in the buffer, too, a barrier only these.")
    store_stage_cycles: Cycles = Field(description="So much longer than others a store to global memory takes to the "
                                       "data stage,")
    store_lines_per_cycle: Count = Field(description="and a cycle more for each so many of its lines.")
    operand_bytes_per_cycle: Count = Field(description="Addresses and data one sub-partition sends to the LSU.")
    address_interval_cycles: Count = Field(
        description="Least cycles between memory instructions that the LSU takes from a sub-partition.")
    register_read_cycles: Count = Field(description="Cycles for which the dispatcher waits for a read of the LSU.")
    registers_per_read: Count = Field(description="Registers that the LSU reads at once.")
    address_cycles: Count = Field(description="Least cycles between those that it takes from all sub-partitions.")
    copy_address_cycles: Count = Field(description="The same behind an LDGSTS: from its first address to its second, "
                                                   "which comes an interval later beside tensor instructions.")
    store_data_bytes_per_cycle: Count = Field(description="What stores of all sub-partitions store, on its way to the "
                                              "LSU: beside addresses, with the upper half of those of global memory.")
    read_release_base_cycles: Cycles = Field(description="From the first operand sent to the release of a read "
                                                         "barrier, for an instruction without operands.")


class Shared(Section):
    banks: Count = Field(description="Banks of shared memory, 4 bytes wide.")
    bytes_per_wavefront: Count = Field(description="Bytes all banks deliver in one wavefront.")
    wavefronts_per_cycle: Count = Field(le=4, description="Wavefronts of an SM per cycle.")
    matrix_start_cycles: Cycles = Field(
        default=0, description="Least cycles behind the start of another access for an ldmatrix of four wavefronts "
                               "that has waited.")
    latency_cycles_per_wavefront: Count = Field(
        le=4, description="Latency each wavefront of a load adds; that of its instruction has the first one. As many "
                          "times wavefronts_per_cycle accesses are under way at once.")


class L1(Section):
    capacity_bytes: Count = Field(description="L1 data cache and shared memory together.")
    line_bytes: Count = Field(description="Bytes under one tag.")
    sector_bytes: Count = Field(description="Bytes fetched together.")
    hit_latency_cycles: Cycles = Field(description="Pointer chase that hits.")
    bytes_per_cycle: Rate = Field(description="Bytes of hits an SM reads per cycle.")
    reads_under_way: Count = Field(description="Requests of loads and copies that an SM can have under way to L2.")
    tag_entries: Count = Field(description="Entries of the queue for the tag stage.")
    access_tag_entries: Count = Field(description="What a load or a copy takes of them.")
    commit_tag_entries: Count = Field(description="What the end of a cp.async group takes.")
    entry_lead_cycles: Cycles = Field(description="So long before its first line is looked up an access leaves its "
                                                  "last entry, or when the second one in front of it is.")
    entry_interval_cycles: Cycles = Field(description="So long after that the next access leaves its first entries.")
    tag_lead_cycles: Cycles = Field(description="So long before the one in front of it has its first line looked up "
                                                "a barrier no longer waits for an access.")
    class_lag_cycles: Cycles = Field(description="By so much both come later for each class of lines that a cp.async "
                                                 "does not write (gpusim.memory.copy_writes).")
    tag_interval_cycles: Count = Field(description="Cycles between two lines whose tags are checked, and between two "
                                                   "requests to L2.")
    request_places: Count = Field(le=8, description="Places behind the tag stage for accesses whose requests leave.")
    request_return_cycles: Cycles = Field(description="So long after its first request has left an access's place is "
                                                      "free.")
    whole_line_cycles: Rate = Field(description="The same for a whole line that eight lanes of a cp.async copy.")
    copy_write_lead_cycles: Cycles = Field(
        description="Cycles that writing a cp.async takes besides its turns (gpusim.memory.copy_writes).")
    commit_write_cycles: Cycles = Field(description="What the end of a cp.async group takes there.")
    stores_from_bytes: Amount = Field(description="Where the part of this memory begins in which the SM's port reads "
                                                  "lines of stores, beside accesses to shared memory from there on.")
    read_lag_cycles: Cycles = Field(description="From when lines have passed the data stage to when it does, at least.")
    line_read_cycles: Rate = Field(description="What the port takes of that part for a line of a store,")
    sector_read_cycles: Rate = Field(description="and for one of which only one sector is written.")


class Noc(Section):
    gpc_runs: tuple[tuple[Amount, Count], ...] = Field(
        description="(GPC, number of SMs) in the order in which CTAs fill them; a GPC may come more than once.")
    gpc_latency_cycles: tuple[int, ...] = Field(
        description="By how much the round trip to L2 of each GPC's SMs differs from l2.hit_latency_cycles; 0 for GPCs "
                    "that the list leaves out.")
    cpcs_per_gpc: Count = Field(
        le=4, description="Groups of TPCs of a GPC that take turns at its ports when these are busy.")
    gpc_requests_per_cycle: Rate = Field(description="Reads of lines that the SMs of one GPC send together per cycle.")
    gpc_read_bytes_per_cycle: Rate = Field(description="Bytes the SMs of one GPC receive together per cycle; what "
                                                       "several of them asked for in one request counts once.")
    sms_per_request: Count = Field(
        description="SMs of a GPC whose reads of one line, when in flight together, reach L2 as one; 1: each alone.")
    sm_read_bytes_per_cycle: Rate = Field(description="Bytes one SM receives from L2 per cycle.")
    sm_write_bytes_per_cycle: Rate = Field(description="Bytes one SM sends to L2 per cycle.")
    cpc_write_bytes_per_cycle: Rate = Field(description="Bytes the SMs of one CPC send there per cycle.")
    unfilled_line_cycles: Cycles = Field(
        description="Cycles more that an SM's port takes for a line of which a sector is written in part.")
    store_lines: Count = Field(ge=32, le=64, description="Lines of stores that wait in front of the port they take.")
    stores_in_flight: Count = Field(
        le=1024, description="Cycles of the port whose stores L2 has not confirmed, with those in front of it.")


class L2(Section):
    capacity_bytes: Count = Field(description="Bytes of the whole L2.")
    line_bytes: Count = Field(description="Bytes under one tag.")
    sector_bytes: Count = Field(description="Bytes fetched together.")
    ways: Count = Field(description="Lines of a set.")
    slices: Count = Field(description="Independent parts, addresses are hashed over them.")
    partitions: Count = Field(description="Halves of the chip: each keeps copies of what its SMs read from the others.")
    page_bytes: PowerOfTwo = Field(description="Aligned bytes that one partition owns.")
    piece_bytes: PowerOfTwo = Field(description="Aligned bytes of a page that two slices share.")
    round_pages: PowerOfTwo = Field(description="Pages of a partition after which all slices have been used evenly.")
    hit_latency_cycles: Cycles = Field(description="Round trip of a load from an SM that hits.")
    own_clock_cycles: Cycles = Field(description="The part of it that takes as long whatever the clock of SMs: the "
                                                 "crossbar's and L2's.")
    slice_latency_cycles: Cycles = Field(description="The part of it between the crossbar's coalescer and the slice: "
                                                     "as long, a read waits there for others of its line.")
    hit_latency_spread_cycles: Cycles = Field(description="Largest difference from it, by place of SM and slice.")
    fabric_latency_cycles: Cycles = Field(description="Round trip between partitions.")
    fabric_latency_spread_cycles: Cycles = Field(description="How much nearer or farther the other one's slices are.")
    lookahead_cycles: Count = Field(description="No round trip is shorter: SMs may run this long unseen.")
    read_bytes_per_cycle: Rate = Field(description="Bytes all slices deliver per SM cycle.")
    write_bytes_per_cycle: Rate = Field(description="Bytes all SMs write per SM cycle, through the slices of their "
                                                    "own partition, also what another one owns.")
    read_request_cycles: Rate = Field(description="Cycles between two reads that a slice looks up.")
    write_request_cycles: Rate = Field(description="Cycles a slice takes at least for a write, however few sectors.")

    @property
    def slices_of_a_write(self) -> float:
        """Slices that a written sector passes on average: two when another partition owns it."""
        return 1 + (self.partitions - 1) / self.partitions

    @model_validator(mode="after")
    def _lookahead_is_safe(self) -> L2:
        if self.lookahead_cycles > self.hit_latency_cycles:
            raise ValueError("lookahead_cycles exceeds hit_latency_cycles, the shortest round trip")
        return self

    @model_validator(mode="after")
    def _the_sm_has_a_part_of_a_hit(self) -> L2:
        if self.own_clock_cycles > self.hit_latency_cycles:
            raise ValueError("own_clock_cycles exceeds hit_latency_cycles, of which it is a part")
        return self

    @model_validator(mode="after")
    def _a_piece_has_lines_for_two_slices(self) -> L2:
        if not 4 * self.line_bytes <= self.piece_bytes <= self.page_bytes:
            raise ValueError("piece_bytes is not between four lines and page_bytes")
        return self


class Dram(Section):
    capacity_bytes: Count = Field(description="Bytes of device memory.")
    channels: Count = Field(description="Channels with data lines of their own (pseudo-channels of HBM).")
    latency_cycles: Cycles = Field(description="Mean round trip of a load from an SM that misses in its own partition.")
    latency_spread_cycles: Cycles = Field(description="How much sooner or later any single read of DRAM is back.")
    run_bytes: Count = Field(description="Aligned bytes in one row of a bank; four that follow are on four channels.")
    row_bytes: Count = Field(description="What a row of a bank holds: runs that stand far apart.")
    row_cycles: Cycles = Field(description="SM cycles from the opening of one row of a bank to that of another.")
    ranks: Count = Field(description="Sets of groups of banks, each of which refreshes a share of a group later.")
    groups: Count = Field(description="Groups of a rank, a bank of each channel, which refresh one after the other.")
    block_bytes: Count = Field(description="Aligned bytes that stand in the banks of two groups.")
    block_share_pct: Rate = Field(description="How much of a block is in the first of its groups.")
    refresh_interval_cycles: Count = Field(description="SM cycles between two refreshes of a bank.")
    refresh_cycles: Cycles = Field(description="SM cycles that a refresh takes; what comes meanwhile waits.")
    refresh_group_cycles: Count = Field(description="From a group's refresh to the next one's.")
    refresh_wave_cycles: Count = Field(description="From the first of a group's channels that refreshes to the last.")
    read_bytes_per_cycle: Rate = Field(description="Bytes read per SM cycle, all channels.")
    write_bytes_per_cycle: Rate = Field(description="Bytes written per SM cycle, all channels.")

    @model_validator(mode="after")
    def _blocks_side_by_side_are_in_groups_side_by_side(self) -> Dram:
        if self.groups % 2 or self.groups < 4:
            raise ValueError("groups is odd or less than four, but two blocks side by side take two pairs of them")
        if self.channels % 2:
            raise ValueError("channels is odd, but refresh comes to two at a time")
        if self.block_bytes % (4 * self.run_bytes) or self.block_bytes & (self.block_bytes - 1):
            raise ValueError("block_bytes is not a power of two of at least four runs")
        if self.block_share_pct >= 100:
            raise ValueError("block_share_pct leaves nothing for the second group")
        return self

    @property
    def banks(self) -> int:
        """Of all channels; each has a row open."""
        return self.channels * self.ranks * self.groups

    @property
    def mean_refresh_cycles(self) -> float:
        """What a load waits for refreshes on average; part of ``latency_cycles``."""
        return self.refresh_cycles**2 / (2 * self.refresh_interval_cycles)


class LaunchCost(Section):
    gpc_spread_pct: Rate = Field(description="How far the fastest GPC is above the slowest where all are lowered.")
    start_cycles: Cycles = Field(description="From the start of the kernel to its first CTAs.")
    end_cycles: Cycles = Field(description="From the last write to the end of the kernel.")
    cta_gap_cycles: Count = Field(description="From the end of a CTA to the start of its successor on the SM.")
    code_bytes: Amount = Field(description="Bytes of code at most that every GPC reads from L2 when a kernel starts.")
    other_sectors: Amount = Field(description="Sectors of L2 that a launch reads besides code and loads.")


class Fetch(Section):
    instruction_bytes: Count = Field(description="Bytes of an instruction's encoding.")
    line_bytes: Count = Field(description="Bytes of a line of code.")
    piece_lines: Count = Field(description="Lines that an SM fetches at once, but for the first one.")
    first_cycles: Cycles = Field(description="From the start of a CTA on an SM that has no code yet to its first "
                                             "instruction.")
    sm_interval_cycles: Cycles = Field(default=0, description="How much later that is on the second SM of a TPC.")
    tpc_interval_cycles: Cycles = Field(default=0, description="How much later on each further TPC of a GPC.")
    next_cycles: Cycles = Field(description="From a warp's entry into a piece until the SM has the next one.")
    late_cycles: Cycles = Field(description="From a piece's arrival to the issue of a warp that waits for it.")
    parameter_start_bytes: Count = Field(description="Where a kernel's parameters begin in its constant bank.")
    constant_line_bytes: Count = Field(description="Bytes of constants that an SM reads at once.")
    first_constant_cycles: Cycles = Field(description="Until an SM has the first line of a kernel's constants.")
    constant_cycles: Cycles = Field(description="Until it has another one, for ULDC and constant operands.")
    constant_interval_cycles: Rate = Field(description="Between two such lines that the SMs of one GPC get: each of "
                                                       "their sub-partitions asks for its own.")
    indexed_constant_cycles: Cycles = Field(description="The same for LDC, whose cache is another one.")


class Barrier(Section):
    base_cycles: Cycles = Field(description="BAR.SYNC of a CTA without warps: the constant part.")
    cycles_per_warp: Cycles = Field(description="What each warp of the CTA adds.")
    after_access_cycles: Cycles = Field(
        description="From the end of the last shared-memory access before a barrier until what is behind may go on.")


class Mbarrier(Section):
    arrive_cycles: Cycles = Field(description="From an arrival's turn at shared memory until it counts.")
    wait_cycles: Cycles = Field(description="From the turn of a wait whose phase has completed to its release.")
    wake_cycles: Cycles = Field(description="From the completion of a phase to the release of waits for it by whole "
                                            "warps.")
    poll_cycles: Count = Field(description="Between two looks of a lane that waits alone, the others of its warp "
                                           "elsewhere.")
    poll_sleep_cycles: Cycles = Field(description="How much of that it sleeps.")
    poll_release_cycles: Cycles = Field(description="From the look that finds the phase complete to the release.")


class Tma(Section):
    start_cycles: Cycles = Field(description="From the issue of a bulk copy to its first line.")
    line_interval_cycles: Rate = Field(description="Cycles between two lines that the unit asks for or sends.")
    box_interval_cycles: Cycles = Field(description="Least cycles between two bulk copies.")
    arrive_cycles: Cycles = Field(description="From data written to their bytes counting at the mbarrier.")
    request_lines: Count = Field(description="Lines that are followed together through the memory system.")


class Cluster(Section):
    max_ctas: Count = Field(description="CTAs of the largest cluster.")
    remote_arrive_cycles: Count = Field(description="From an arrival's turn at shared memory until it counts at an "
                                                    "mbarrier in another SM.")
    barrier_cycles: Count = Field(description="From the last warp's arrival at the barrier of a cluster to the release "
                                              "of those that wait.")
    gap_cycles: Cycles = Field(description="How much later a cluster starts in the place of others than a CTA alone.")


class Wgmma(Section):
    start_cycles: Cycles = Field(description="From the issue by the last warp of a warpgroup to the first operand.")
    columns_per_cycle: Count = Field(description="Columns of 64 rows and 32 bytes of K that an SM finishes per cycle.")
    operand_rows: Count = Field(description="Rows of A, 32 bytes each.")
    register_interval_cycles: Cycles = Field(description="Least cycles of an instruction whose A is in registers.")
    block_columns: Count = Field(description="Columns whose operands are fetched before their arithmetic starts.")
    latency_cycles: Cycles = Field(description="From the end of the arithmetic to results in registers.")
    queue_instructions: Count = Field(description="Instructions of an SM that can wait in front of the tensor pipe.")


class GpuSpec(Section):
    """A GPU: sections of numbers, the instruction table, and where every number comes from.

    ``provenance`` maps a dotted key (``"sm.max_warps"``, ``"instructions.3.latency_cycles"``) to its source.
    """

    name: str = Field(description="Name of the file and of the GPU on the command line.")
    product: str = Field(description="What the vendor calls it.")
    architecture: str = Field(pattern=r"^sm_\d+$", description="Compute capability as nvcc spells it.")
    clock: Clock
    sm: Sm
    issue: Issue
    mio: Mio
    shared: Shared
    l1: L1
    noc: Noc
    l2: L2
    dram: Dram
    launch: LaunchCost
    fetch: Fetch
    barrier: Barrier
    mbarrier: Mbarrier | None = Field(default=None, description="Barriers in shared memory; not given: none.")
    tma: Tma | None = Field(default=None, description="Unit for bulk copies; not given: none.")
    wgmma: Wgmma | None = Field(default=None, description="MMA of warpgroups; not given: none.")
    cluster: Cluster | None = Field(default=None, description="Clusters of CTAs; not given: none.")
    instructions: tuple[InstructionEntry, ...]

    _provenance: dict[str, Source] = PrivateAttr(default_factory=dict)

    @property
    def provenance(self) -> Mapping[str, Source]:
        """Sources by dotted key."""
        return MappingProxyType(self._provenance)

    @property
    def compute_capability(self) -> int:
        """90 for sm_90."""
        return int(self.architecture.removeprefix("sm_"))

    @cached_property
    def tensor_reads(self) -> tuple[TensorReads, ...]:
        """Kinds of tensor instructions by what reads of registers beside them cost; first those of most of them."""
        own = (entry.reads for entry in self.instructions if entry.reads is not None)
        return tuple(dict.fromkeys((self.issue.tensor_reads, *own)))

    def reads_beside(self, mnemonic: str) -> TensorReads:
        """What reads of registers cost this tensor instruction."""
        return self.instruction_table.lookup(mnemonic).reads or self.issue.tensor_reads

    def pipe_cycles(self, mnemonic: str) -> int:
        """Cycles for which one warp's instruction keeps its pipe busy, where operands do not hold it up."""
        columns = wgmma_columns(mnemonic)
        if columns and self.wgmma is not None:
            return -(-columns // self.wgmma.columns_per_cycle)
        return self.instruction_table.lookup(mnemonic).issue_interval_cycles

    @cached_property
    def instruction_table(self) -> InstructionTable:
        return InstructionTable(self.instructions, gpu=self.name)
