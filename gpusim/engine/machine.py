"""Models the GPU as the compiled code sees it: one flat tuple of numbers, all of them from the GPU specification.
Leaves out what the numbers mean for a result (gpusim.engine.execute, gpusim.engine.memory)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpusim.arch import GpuSpec

__all__ = ["POLICIES", "Machine", "at_clock", "machine_of", "machine_record"]

RETURN_LEAD = 12
"""For how long before it comes a load's result is known where nothing stops it: less than any load takes."""
POLICIES = ("gto", "lrr", "oldest", "youngest", "grr")


class Machine(NamedTuple):
    """Numbers of a GPU for compiled code; cycles are SM cycles, rates are per SM cycle, at the maximum clock or the one
    that ``at_clock`` gives."""

    num_sms: int
    max_warps: int
    sub_partitions: int
    policy: int
    turns_counted: int
    mio_queue_depth: int
    queue_return: int
    register_read: int
    data_paths: int
    tag_entries: int
    access_tags: int
    commit_tags: int
    tag_lead: int
    entry_lead: int
    entry_interval: int
    ask_places: int
    ask_return: int
    reads_under_way: int
    buffer_entries: int
    kept_registers: int
    kept_return: int
    waiting_accesses: int
    waiting_return: int
    store_lead: int
    store_stage: int
    store_line_rate: int
    buffer_return: int
    store_places: int
    stores_from: int
    read_lag: int
    cta_shared_bytes: int
    read_release_base: int
    wavefront_interval: int
    tag_interval: int
    commit_write: int
    barrier_base: int
    barrier_per_warp: int
    barrier_after_access: int
    taken_branch: int
    constant_load: int
    fetch_next: int
    fetch_late: int
    uniform_constant: int
    indexed_constant: int
    wide_after_tensor: int
    wide_between_tensor: int
    tensor_last_read: int
    tensor_after_wide: int
    return_lead: int
    matrix_start: int
    lookahead: int
    l2_latency: int
    l2_own_clock: int
    l2_latency_spread: int
    slice_latency: int
    fabric_latency: int
    fabric_spread: int
    dram_latency: float
    dram_spread: int
    dram_row_cycles: int
    dram_row_lines: int
    dram_run_lines: int
    dram_ranks: int
    dram_groups: int
    dram_block_lines: int
    dram_block_share_pct: float
    refresh_interval: int
    refresh_cycles: int
    refresh_group: int
    refresh_wave: int
    slices: int
    partitions: int
    partition_slices: int
    l2_sets: int
    l2_page_bits: int
    l2_piece_bits: int
    l2_round_bits: int
    l2_round_sets: int
    l2_ways: int
    slice_cycles_per_sector: float
    slice_lookup_cycles: float
    sm_read_bytes_per_cycle: float
    gpc_read_bytes_per_cycle: float
    gpc_request_cycles: float
    cpc_write_cycles_per_sector: float
    slice_write_cycles_per_turn: float
    slice_write_cycles_least: float
    dram_channels: int
    dram_read_cycles_per_byte: float
    dram_write_cycles_per_byte: float
    stores_in_flight: int
    store_lines: int
    sector_write: float
    unfilled_line: float
    sms_per_request: int
    l1_after_data: int
    mbarrier_arrive: int
    mbarrier_wait: int
    mbarrier_wake: int
    mbarrier_poll: int
    mbarrier_sleep: int
    mbarrier_poll_release: int
    tma_start: int
    tma_line_interval: float
    tma_box_interval: int
    tma_arrive: int
    tma_request_lines: int
    wgmma_start: int
    wgmma_places: int
    remote_arrive: int
    cluster_barrier: int


def machine_of(spec: GpuSpec, *, policy: str | None = None) -> Machine:
    """Flatten a specification. Rates of the whole chip become intervals of one slice or channel."""
    lines = spec.l2.capacity_bytes // spec.l2.line_bytes
    stops = (kind.stop_after_cycles for kind in spec.tensor_reads if kind.stop_cycles)
    return Machine(
        num_sms=spec.sm.count,
        max_warps=spec.sm.max_warps,
        sub_partitions=spec.sm.sub_partitions,
        policy=POLICIES.index(policy or spec.issue.policy), turns_counted=spec.issue.turns_counted,
        mio_queue_depth=spec.mio.queue_depth, queue_return=spec.mio.queue_return_cycles,
        register_read=spec.mio.register_read_cycles,
        data_paths=spec.shared.wavefronts_per_cycle * spec.shared.latency_cycles_per_wavefront,
        tag_entries=spec.l1.tag_entries, access_tags=spec.l1.access_tag_entries,
        commit_tags=spec.l1.commit_tag_entries, tag_lead=spec.l1.tag_lead_cycles,
        entry_lead=spec.l1.entry_lead_cycles, entry_interval=spec.l1.entry_interval_cycles,
        ask_places=spec.l1.request_places, ask_return=spec.l1.request_return_cycles,
        reads_under_way=spec.l1.reads_under_way,
        buffer_entries=spec.mio.buffer_entries,
        kept_registers=spec.mio.kept_registers, kept_return=spec.mio.kept_return_cycles,
        waiting_accesses=spec.mio.waiting_accesses, waiting_return=spec.mio.waiting_return_cycles,
        store_lead=spec.mio.store_lead_cycles, store_stage=spec.mio.store_stage_cycles,
        store_line_rate=spec.mio.store_lines_per_cycle,
        buffer_return=spec.mio.buffer_return_cycles, store_places=spec.mio.buffer_entries + spec.mio.waiting_stores,
        stores_from=spec.l1.stores_from_bytes - spec.sm.shared_reserved_bytes_per_cta,
        read_lag=spec.l1.read_lag_cycles,
        cta_shared_bytes=0,
        read_release_base=spec.mio.read_release_base_cycles,
        wavefront_interval=spec.shared.latency_cycles_per_wavefront,
        tag_interval=spec.l1.tag_interval_cycles,
        commit_write=spec.l1.commit_write_cycles,
        barrier_base=spec.barrier.base_cycles,
        barrier_per_warp=spec.barrier.cycles_per_warp,
        barrier_after_access=spec.barrier.after_access_cycles,
        taken_branch=spec.issue.taken_branch_cycles,
        constant_load=spec.issue.constant_load_cycles,
        fetch_next=spec.fetch.next_cycles,
        fetch_late=spec.fetch.late_cycles,
        uniform_constant=spec.fetch.constant_cycles,
        indexed_constant=spec.fetch.indexed_constant_cycles,
        wide_after_tensor=spec.issue.wide_after_tensor_cycles,
        wide_between_tensor=spec.issue.wide_between_tensor_cycles,
        tensor_last_read=spec.issue.tensor_last_read_cycles,
        tensor_after_wide=spec.issue.tensor_after_wide_cycles,
        return_lead=min(stops, default=RETURN_LEAD) - 1,
        matrix_start=spec.shared.matrix_start_cycles,
        lookahead=spec.l2.lookahead_cycles,
        l2_latency=spec.l2.hit_latency_cycles - _cycles_in_the_sm(spec),
        l2_own_clock=spec.l2.own_clock_cycles,
        l2_latency_spread=spec.l2.hit_latency_spread_cycles,
        slice_latency=spec.l2.slice_latency_cycles,
        fabric_latency=spec.l2.fabric_latency_cycles,
        fabric_spread=spec.l2.fabric_latency_spread_cycles,
        dram_latency=spec.dram.latency_cycles - spec.dram.mean_refresh_cycles - _cycles_in_the_sm(spec),
        dram_spread=spec.dram.latency_spread_cycles,
        dram_row_cycles=spec.dram.row_cycles,
        dram_row_lines=max(1, spec.dram.row_bytes // spec.l2.line_bytes),
        dram_run_lines=max(1, spec.dram.run_bytes // spec.l2.line_bytes),
        dram_ranks=spec.dram.ranks,
        dram_groups=spec.dram.groups,
        dram_block_lines=spec.dram.block_bytes // spec.l2.line_bytes,
        dram_block_share_pct=spec.dram.block_share_pct,
        refresh_interval=spec.dram.refresh_interval_cycles,
        refresh_cycles=spec.dram.refresh_cycles,
        refresh_group=spec.dram.refresh_group_cycles,
        refresh_wave=spec.dram.refresh_wave_cycles,
        slices=spec.l2.slices,
        partitions=spec.l2.partitions,
        partition_slices=spec.l2.slices // spec.l2.partitions,
        l2_sets=max(1, lines // (spec.l2.slices * spec.l2.ways)),
        l2_ways=spec.l2.ways,
        **_places(spec),
        slice_cycles_per_sector=spec.l2.sector_bytes * spec.l2.slices / spec.l2.read_bytes_per_cycle,
        slice_lookup_cycles=spec.l2.read_request_cycles,
        sm_read_bytes_per_cycle=spec.noc.sm_read_bytes_per_cycle,
        gpc_read_bytes_per_cycle=spec.noc.gpc_read_bytes_per_cycle,
        gpc_request_cycles=1 / spec.noc.gpc_requests_per_cycle,
        slice_write_cycles_per_turn=spec.noc.sm_write_bytes_per_cycle * spec.l2.slices / spec.l2.write_bytes_per_cycle,
        cpc_write_cycles_per_sector=spec.l2.sector_bytes / spec.noc.cpc_write_bytes_per_cycle,
        slice_write_cycles_least=spec.l2.write_request_cycles,
        dram_channels=spec.dram.channels,
        dram_read_cycles_per_byte=spec.dram.channels / spec.dram.read_bytes_per_cycle,
        stores_in_flight=spec.noc.stores_in_flight,
        store_lines=spec.noc.store_lines,
        sector_write=spec.l2.sector_bytes / spec.noc.sm_write_bytes_per_cycle,
        unfilled_line=float(spec.noc.unfilled_line_cycles),
        dram_write_cycles_per_byte=spec.dram.channels / spec.dram.write_bytes_per_cycle,
        sms_per_request=spec.noc.sms_per_request,
        l1_after_data=spec.l1.hit_latency_cycles - _address_cycles(spec)
        - spec.shared.latency_cycles_per_wavefront,
        **_asynchronous_units(spec),
    )


def _places(spec: GpuSpec) -> dict[str, int]:
    """Bits of a line's number that count inside a page and a piece of it, those of a page inside a round, and how many
    of a round's lines are in each slice."""
    l2 = spec.l2
    lines = l2.page_bytes * l2.round_pages // l2.line_bytes
    return {
        "l2_page_bits": (l2.page_bytes // l2.line_bytes).bit_length() - 1,
        "l2_piece_bits": (l2.piece_bytes // l2.line_bytes).bit_length() - 1,
        "l2_round_bits": l2.round_pages.bit_length() - 1,
        "l2_round_sets": max(1, round(lines * l2.partitions / l2.slices)),
    }


INTERVALS = ("gpc_request_cycles", "slice_cycles_per_sector", "slice_lookup_cycles", "slice_write_cycles_per_turn",
             "slice_write_cycles_least", "dram_read_cycles_per_byte", "dram_write_cycles_per_byte")
TIMES = ("l2_own_clock", "l2_latency_spread", "slice_latency", "fabric_latency", "fabric_spread", "dram_spread",
         "dram_row_cycles", "refresh_interval", "refresh_cycles", "refresh_group", "refresh_wave")


def at_clock(machine: Machine, share: float) -> Machine:
    """The same with SMs at a ``share`` of their maximum clock: what lies behind them keeps its rates and its time.

    copy_tiles.csv: as many microseconds at 1,980 as at 1,800 MHz. Of a round trip crossbar, L2 and DRAM take as many
    nanoseconds as before, the SM as many cycles (clock_beside.csv: 279, 272 and 255 cycles for a hit in L2 at 1,884,
    1,798 and 1,560 MHz, 38 for one in L1 at all of them).
    """
    intervals = {name: getattr(machine, name) * share for name in INTERVALS}
    times = {name: round(getattr(machine, name) * share) for name in TIMES}
    l2_latency = machine.l2_latency - machine.l2_own_clock + times["l2_own_clock"]
    dram_latency = l2_latency + (machine.dram_latency - machine.l2_latency) * share
    return machine._replace(**intervals, **times, l2_latency=l2_latency, dram_latency=dram_latency,
                            gpc_read_bytes_per_cycle=machine.gpc_read_bytes_per_cycle / share)


def _cycles_in_the_sm(spec: GpuSpec) -> int:
    """What the SM has of a measured round trip: the way of the addresses, and of one wavefront of data."""
    return _address_cycles(spec) + 1


def _address_cycles(spec: GpuSpec) -> int:
    """Cycles that the addresses of a load take to the load/store unit: two registers of all lanes."""
    return math.ceil(2 * 4 * spec.sm.threads_per_warp / spec.mio.operand_bytes_per_cycle)


def _asynchronous_units(spec: GpuSpec) -> dict[str, Any]:
    """Zeros for a unit that the GPU lacks: programs that need it are refused (gpusim.engine.operands)."""
    mbarrier, tma, wgmma = spec.mbarrier, spec.tma, spec.wgmma
    return {
        "mbarrier_arrive": mbarrier.arrive_cycles if mbarrier else 0,
        "mbarrier_wait": mbarrier.wait_cycles if mbarrier else 0,
        "mbarrier_wake": mbarrier.wake_cycles if mbarrier else 0,
        "mbarrier_poll": mbarrier.poll_cycles if mbarrier else 1,
        "mbarrier_sleep": mbarrier.poll_sleep_cycles if mbarrier else 0,
        "mbarrier_poll_release": mbarrier.poll_release_cycles if mbarrier else 0,
        "tma_start": tma.start_cycles if tma else 0,
        "tma_line_interval": tma.line_interval_cycles if tma else 0.0,
        "tma_box_interval": tma.box_interval_cycles if tma else 0,
        "tma_arrive": tma.arrive_cycles if tma else 0,
        "tma_request_lines": tma.request_lines if tma else 1,
        "wgmma_start": wgmma.start_cycles if wgmma else 0,
        "wgmma_places": wgmma.queue_instructions if wgmma else 0,
        "remote_arrive": spec.cluster.remote_arrive_cycles if spec.cluster else 0,
        "cluster_barrier": spec.cluster.barrier_cycles if spec.cluster else 0,
    }


def machine_record(machine: Machine) -> np.ndarray:
    """The same as an array of one record: compiled functions pass a record as one pointer."""
    fields = [(name, "<f8" if isinstance(value, float) else "<i8") for name, value in machine._asdict().items()]
    return np.array([tuple(machine)], np.dtype(fields, align=True))
