#if RocksDB
  internal import ConiferKeyValue
  internal import ConiferStorage

  /// A file whose bytes are given to RocksDB when the disk is full, so that the store can be opened,
  /// and commits that remove something are taken, until there is room again.
  enum Reserve {
    static let name = "conifer.reserve"
    private static let most = 4 << 20
    /// What an opening needs, and a few commits that remove something.
    private static let least = 64 << 10

    /// Makes the file, or what is missing of it.
    ///
    /// - Returns: false when the disk is too full for it. Other failures return true, since they
    ///   are no reason to refuse commits.
    static func fill(_ directory: String, _ options: RocksDBOptions) -> Bool {
      let length = min(max(options.reserve, 0), most)
      guard length > 0 else { return true }
      do throws(StoreError) {
        try System.allocate(directory + "/" + name, length)
        return true
      } catch {
        // A partial reserve would take the space that the next commits need.
        if error.code == .full { release(directory) }
        return error.code != .full
      }
    }

    /// Makes the file for the next opening of what closing has freed, smaller where the disk is too full for all of it.
    static func keep(_ directory: String, _ options: RocksDBOptions) {
      var length = min(max(options.reserve, 0), most)
      guard System.length(of: directory + "/" + name) < length else { return }
      while length >= least {
        do throws(StoreError) {
          return try System.allocate(directory + "/" + name, length)
        } catch {
          guard error.code == .full else { return }
          // What came of it is given back, so that a smaller one has room.
          release(directory)
          length /= 2
        }
      }
    }

    /// Gives the bytes back to the volume.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    static func release(_ directory: String) -> Bool { System.unlink(directory + "/" + name) }
  }
#endif
