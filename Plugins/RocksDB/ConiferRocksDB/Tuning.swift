#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue

  /// RocksDB's option objects for one open database.
  final class Tuning: @unchecked Sendable {
    // Unchecked: RocksDB only reads them once they are made.

    let options: OpaquePointer
    /// How a commit is written: to the operating system, or synced too.
    let soft: OpaquePointer
    let synced: OpaquePointer
    /// Reads the newest state.
    let reading: OpaquePointer
    let flushing: OpaquePointer
    let compacting: OpaquePointer

    /// - Parameters:
    ///   - creates: whether the database is to be made, and must not be there.
    ///   - isTight: whether it is to be opened with as little space as can be.
    ///   - salvages: whether to leave out what is damaged instead of refusing all.
    init(
      _ tuned: RocksDBOptions, creates: Bool, isTight: Bool = false, salvages: Bool = false
    ) {
      options = Self.base(isTight)
      rocksdb_options_set_create_if_missing(options, creates ? 1 : 0)
      rocksdb_options_set_error_if_exists(options, creates ? 1 : 0)
      rocksdb_options_set_paranoid_checks(options, salvages ? 0 : 1)
      // Absolute consistency: nothing but whole logs is accepted; see WriteAheadLog.
      rocksdb_options_set_wal_recovery_mode(options, salvages ? 3 : 1)
      // Each commit goes to the operating system before it returns.
      rocksdb_options_set_manual_wal_flush(options, 0)

      // The store syncs the log and begins a new one at `memtable` bytes; RocksDB would not sync.
      rocksdb_options_set_write_buffer_size(options, max(tuned.memtable, 1 << 16) * 2)
      rocksdb_options_set_max_write_buffer_number(options, 4)
      // A flush waits, for ever when compaction has run out of space, while more files than these
      // would have to be compacted first.
      rocksdb_options_set_level0_slowdown_writes_trigger(options, .max)
      rocksdb_options_set_level0_stop_writes_trigger(options, .max)
      // Compaction that an earlier closing broke off would begin anew with each opening, beside the first reads; see
      // `RocksDBStore.Writer`.
      rocksdb_options_set_disable_auto_compactions(options, 1)
      rocksdb_options_set_soft_pending_compaction_bytes_limit(options, 0)
      rocksdb_options_set_hard_pending_compaction_bytes_limit(options, 0)
      rocksdb_options_set_max_open_files(options, Int32(clamping: max(tuned.openFiles, 16)))
      rocksdb_options_set_max_background_jobs(
        options, Int32(clamping: max(tuned.backgroundThreads, 1)))
      rocksdb_options_set_target_file_size_base(options, UInt64(max(tuned.memtable / 2, 1 << 20)))
      rocksdb_options_set_max_bytes_for_level_base(
        options, UInt64(max(tuned.memtable, 1 << 20)) * 4)
      rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1)
      // The packed backend compresses its records itself.
      rocksdb_options_set_compression(options, 0)
      rocksdb_options_set_max_manifest_file_size(options, 1 << 20)

      // No word of what it does, above all levels: it goes on writing to that file after a write to it
      // failed, which ends the process where RocksDB was built with assertions.
      rocksdb_options_set_info_log_level(options, 6)
      rocksdb_options_set_keep_log_file_num(options, 1)
      rocksdb_options_set_stats_dump_period_sec(options, 0)
      rocksdb_options_set_stats_persist_period_sec(options, 0)

      let table = rocksdb_block_based_options_create()
      let cache = rocksdb_cache_create_lru(max(tuned.blockCache, 64 << 10))
      rocksdb_block_based_options_set_block_cache(table, cache)
      rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1)
      // The table's options own the policy.
      rocksdb_block_based_options_set_filter_policy(
        table, rocksdb_filterpolicy_create_bloom_full(10))
      rocksdb_options_set_block_based_table_factory(options, table)
      rocksdb_cache_destroy(cache)
      rocksdb_block_based_options_destroy(table)

      soft = rocksdb_writeoptions_create()
      synced = rocksdb_writeoptions_create()
      rocksdb_writeoptions_set_sync(synced, 1)
      reading = rocksdb_readoptions_create()
      rocksdb_readoptions_set_verify_checksums(reading, 1)
      flushing = rocksdb_flushoptions_create()
      rocksdb_flushoptions_set_wait(flushing, 0)
      compacting = rocksdb_compactoptions_create()
      // Rewrites the lowest level too, where deletions would stay otherwise.
      rocksdb_compactoptions_set_bottommost_level_compaction(compacting, 3)
      rocksdb_compactoptions_set_exclusive_manual_compaction(compacting, 0)
    }

    /// RocksDB's defaults, and what can only be told as text; unknown names change nothing.
    private static func base(_ isTight: Bool) -> OpaquePointer {
      let plain: OpaquePointer = rocksdb_options_create()
      let told: OpaquePointer = rocksdb_options_create()
      let text = [
        // After an error it must not try again by itself.
        "max_bgerror_resume_count=0", "avoid_flush_during_shutdown=true",
        // It cannot tell its options, since it has no name for the level of its log.
        "fail_if_options_file_error=false",
        // Files should not name this computer, nor reserve space beyond their end.
        "db_host_id=", "allow_fallocate=false",
        // The logs stay where they are, instead of being copied into sorted files.
        "avoid_flush_during_recovery=\(isTight)",
      ].joined(separator: ";")
      let words = telling { rocksdb_get_options_from_string(plain, text, told, $0) }.1
      rocksdb_options_destroy(words == nil ? plain : told)
      return words == nil ? told : plain
    }

    deinit {
      rocksdb_compactoptions_destroy(compacting)
      rocksdb_flushoptions_destroy(flushing)
      rocksdb_readoptions_destroy(reading)
      rocksdb_writeoptions_destroy(synced)
      rocksdb_writeoptions_destroy(soft)
      rocksdb_options_destroy(options)
    }
  }
#endif
