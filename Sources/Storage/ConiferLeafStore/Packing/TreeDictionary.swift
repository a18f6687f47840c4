package import ConiferKeyValue
import Synchronization

#if Zstd
  internal import CZstd
#endif

/// A tree's dictionary in memory, with the tables that zstd makes of it at first use; safe on any
/// thread.
///
/// zstd refers to the bytes in place, so they are kept in memory that never moves.
package final class TreeDictionary: @unchecked Sendable {
  // Unchecked: the bytes never change, and the tables are made under a lock and then only read.
  package let number: UInt32
  /// The ratio at which it packed held-out bodies when it was trained.
  package let ratio: Double
  private let bytes: UnsafeMutableRawBufferPointer
  #if Zstd
    private struct Tables {
      /// By level: a codec packs at two at most.
      var compression: [Int: OpaquePointer] = [:]
      var decompression: OpaquePointer?
    }

    private let tables = Mutex(Tables())
  #endif

  package init(number: UInt32, ratio: Double, _ content: Bytes) {
    self.number = number
    self.ratio = ratio
    bytes = .allocate(byteCount: content.count, alignment: 16)
    bytes.copyBytes(from: content)
  }

  deinit {
    #if Zstd
      tables.withLock {
        for table in $0.compression.values { ZSTD_freeCDict(table) }
        ZSTD_freeDDict($0.decompression)
      }
    #endif
    bytes.deallocate()
  }

  /// How large it is.
  package var count: Int { bytes.count }

  #if Zstd
    /// What zstd compresses with, for as long as the dictionary is held; nil without memory.
    package func compression(_ level: Int) -> OpaquePointer? {
      tables.withLock { tables in
        if let table = tables.compression[level] { return table }
        let table = ZSTD_createCDict_byReference(bytes.baseAddress, bytes.count, Int32(level))
        tables.compression[level] = table
        return table
      }
    }

    /// What zstd decompresses with, for as long as the dictionary is held; nil without memory.
    package var decompression: OpaquePointer? {
      tables.withLock { tables in
        if tables.decompression == nil {
          tables.decompression = ZSTD_createDDict_byReference(bytes.baseAddress, bytes.count)
        }
        return tables.decompression
      }
    }
  #endif
}
