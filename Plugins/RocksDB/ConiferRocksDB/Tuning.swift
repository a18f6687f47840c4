#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue

  /// RocksDB's option objects for one open database.
  final class Tuning: @unchecked Sendable {
    // Unchecked: RocksDB only reads them once they are made.

    let options: OpaquePointer
    /// How a commit is written: to the operating system, or synced too.
    let unsynced: OpaquePointer
    let synced: OpaquePointer
    /// Reads the newest state.
    let reading: OpaquePointer
    let flushing: OpaquePointer
    let compacting: OpaquePointer

    /// - Parameters:
    ///   - creates: whether the database is to be created; it must not exist then.
    ///   - isShortOfSpace: whether it is opened on a full disk, with as little space as possible.
    ///   - salvages: whether damaged parts are left out instead of refusing to open.
    init(
      _ tuned: RocksDBOptions, creates: Bool, isShortOfSpace: Bool = false, salvages: Bool = false
    ) {
      options = Self.base(isShortOfSpace)
      rocksdb_options_set_create_if_missing(options, creates ? 1 : 0)
      rocksdb_options_set_error_if_exists(options, creates ? 1 : 0)
      rocksdb_options_set_paranoid_checks(options, salvages ? 0 : 1)
      // Absolute consistency: only logs without an invalid record are accepted; see WriteAheadLog.
      rocksdb_options_set_wal_recovery_mode(options, salvages ? 3 : 1)
      // Each commit goes to the operating system before it returns.
      rocksdb_options_set_manual_wal_flush(options, 0)

      // The store itself syncs the log and begins a new one at `memtable` bytes, since RocksDB
      // would not sync the old log. This buffer is twice as large, so that RocksDB does not come
      // first.
      rocksdb_options_set_write_buffer_size(options, max(tuned.memtable, 1 << 16) * 2)
      rocksdb_options_set_max_write_buffer_number(options, 4)
      // At these limits RocksDB would make a flush wait for compaction, which never ends when the
      // disk is full.
      rocksdb_options_set_level0_slowdown_writes_trigger(options, .max)
      rocksdb_options_set_level0_stop_writes_trigger(options, .max)
      // Compaction that an earlier closing broke off would begin anew with each opening, beside the first reads; see
      // `RocksDBStore.Writer`.
      rocksdb_options_set_disable_auto_compactions(options, 1)
      rocksdb_options_set_soft_pending_compaction_bytes_limit(options, 0)
      rocksdb_options_set_hard_pending_compaction_bytes_limit(options, 0)
      rocksdb_options_set_max_open_files(options, Int32(clamping: max(tuned.openFiles, 16)))
      // Otherwise each opening begins and ends fifteen threads, however few files there are.
      rocksdb_options_set_max_file_opening_threads(options, 1)
      rocksdb_options_set_max_background_jobs(
        options, Int32(clamping: max(tuned.backgroundThreads, 1)))
      rocksdb_options_set_target_file_size_base(options, UInt64(max(tuned.memtable / 2, 1 << 20)))
      rocksdb_options_set_max_bytes_for_level_base(
        options, UInt64(max(tuned.memtable, 1 << 20)) * 4)
      rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1)
      // The packed backend compresses its records itself.
      rocksdb_options_set_compression(options, 0)
      rocksdb_options_set_max_manifest_file_size(options, tuned.manifest)

      // Level 6 is above all levels, so nothing is logged. RocksDB continues to write to its log of
      // messages after a write to it failed, which ends the process if RocksDB was built with
      // assertions.
      rocksdb_options_set_info_log_level(options, 6)
      rocksdb_options_set_keep_log_file_num(options, 1)
      rocksdb_options_set_stats_dump_period_sec(options, 0)
      rocksdb_options_set_stats_persist_period_sec(options, 0)

      let table = rocksdb_block_based_options_create()
      let cache = rocksdb_cache_create_lru(max(tuned.blockCache, 64 << 10))
      rocksdb_block_based_options_set_block_cache(table, cache)
      rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1)
      // The table options own the filter policy and destroy it.
      rocksdb_block_based_options_set_filter_policy(
        table, rocksdb_filterpolicy_create_bloom_full(10))
      rocksdb_options_set_block_based_table_factory(options, table)
      rocksdb_cache_destroy(cache)
      rocksdb_block_based_options_destroy(table)

      unsynced = rocksdb_writeoptions_create()
      synced = rocksdb_writeoptions_create()
      rocksdb_writeoptions_set_sync(synced, 1)
      reading = rocksdb_readoptions_create()
      rocksdb_readoptions_set_verify_checksums(reading, 1)
      flushing = rocksdb_flushoptions_create()
      rocksdb_flushoptions_set_wait(flushing, 0)
      compacting = rocksdb_compactoptions_create()
      // Compaction includes the lowest level, where deletions would stay otherwise.
      rocksdb_compactoptions_set_bottommost_level_compaction(compacting, 3)
      rocksdb_compactoptions_set_exclusive_manual_compaction(compacting, 0)
    }

    /// RocksDB's defaults, with options that the C interface takes only as text. If RocksDB does
    /// not know one of them, none is set.
    private static func base(_ isShortOfSpace: Bool) -> OpaquePointer {
      let plain: OpaquePointer = rocksdb_options_create()
      let told: OpaquePointer = rocksdb_options_create()
      let text = [
        // RocksDB must not retry after a background error.
        "max_bgerror_resume_count=0", "avoid_flush_during_shutdown=true",
        // Writing the options file fails, because RocksDB has no name for log level 6.
        "fail_if_options_file_error=false",
        // Files do not contain the host's name and are not allocated beyond their end.
        "db_host_id=", "allow_fallocate=false",
        // On a full disk the logs stay as they are instead of being flushed into sorted files.
        "avoid_flush_during_recovery=\(isShortOfSpace)",
      ].joined(separator: ";")
      let words = withErrorMessage { rocksdb_get_options_from_string(plain, text, told, $0) }.1
      rocksdb_options_destroy(words == nil ? plain : told)
      return words == nil ? told : plain
    }

    deinit {
      rocksdb_compactoptions_destroy(compacting)
      rocksdb_flushoptions_destroy(flushing)
      rocksdb_readoptions_destroy(reading)
      rocksdb_writeoptions_destroy(synced)
      rocksdb_writeoptions_destroy(unsynced)
      rocksdb_options_destroy(options)
    }
  }
#endif
