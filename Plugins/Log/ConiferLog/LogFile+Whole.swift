import ConiferKeyValue

extension LogFile {
  /// Fills a buffer from an offset, going on after interruptions and short reads.
  ///
  /// - Returns: how many bytes there were; fewer than asked only at the file's end.
  func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    var done = 0
    while done < buffer.count {
      do throws(FileFailure) {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let count = try read(rest, at: offset + done)
        if count == 0 { break }
        done += count
      } catch {
        if !error.isInterruption { throw error }
      }
    }
    return done
  }

  /// Up to so many bytes from an offset; fewer only at the file's end.
  func bytes(at offset: Int, count: Int) throws(FileFailure) -> Bytes {
    var failure: FileFailure?
    let bytes = Bytes(unsafeUninitializedCapacity: max(0, count)) { buffer, done in
      do throws(FileFailure) {
        done = try fill(
          UnsafeMutableRawBufferPointer(
            UnsafeMutableBufferPointer(rebasing: buffer[..<max(0, count)])),
          at: offset)
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Writes all bytes at an offset, going on after interruptions and short writes.
  func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) {
    var done = 0
    while done < bytes.count {
      do throws(FileFailure) {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        let count = try write(rest, at: offset + done)
        if count == 0 { throw FileFailure.nothingWritten }
        done += count
      } catch {
        if !error.isInterruption { throw error }
      }
    }
  }

  func writeAll(_ bytes: Bytes, at offset: Int) throws(FileFailure) {
    let failure = bytes.withUnsafeBytes { buffer -> FileFailure? in
      do throws(FileFailure) {
        try writeAll(buffer, at: offset)
        return nil
      } catch { return error }
    }
    if let failure { throw failure }
  }

  /// Makes all written bytes survive power loss, going on after interruptions.
  func syncAll() throws(FileFailure) {
    while true {
      do throws(FileFailure) {
        return try sync()
      } catch {
        if !error.isInterruption { throw error }
      }
    }
  }
}
