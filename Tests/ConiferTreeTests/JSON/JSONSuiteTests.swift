import ConiferTree
import Testing

@Suite struct `JSONTestSuite` {
  /// What the reader does with the cases that the grammar leaves open; see Docs/JSON.md.
  static let decisions: [String: JSONError.Code?] = [
    "i_number_double_huge_neg_exp.json": nil,
    "i_number_huge_exp.json": .numberOutOfRange,
    "i_number_neg_int_huge_exp.json": .numberOutOfRange,
    "i_number_pos_double_huge_exp.json": .numberOutOfRange,
    "i_number_real_neg_overflow.json": .numberOutOfRange,
    "i_number_real_pos_overflow.json": .numberOutOfRange,
    "i_number_real_underflow.json": nil,
    "i_number_too_big_neg_int.json": nil,
    "i_number_too_big_pos_int.json": nil,
    "i_number_very_big_negative_int.json": nil,
    "i_object_key_lone_2nd_surrogate.json": .loneSurrogate,
    "i_string_1st_surrogate_but_2nd_missing.json": .loneSurrogate,
    "i_string_1st_valid_surrogate_2nd_invalid.json": .loneSurrogate,
    "i_string_UTF-16LE_with_BOM.json": .invalidUTF8,
    "i_string_UTF-8_invalid_sequence.json": .invalidUTF8,
    "i_string_UTF8_surrogate_U+D800.json": .invalidUTF8,
    "i_string_incomplete_surrogate_and_escape_valid.json": .loneSurrogate,
    "i_string_incomplete_surrogate_pair.json": .loneSurrogate,
    "i_string_incomplete_surrogates_escape_valid.json": .loneSurrogate,
    "i_string_invalid_lonely_surrogate.json": .loneSurrogate,
    "i_string_invalid_surrogate.json": .loneSurrogate,
    "i_string_invalid_utf-8.json": .invalidUTF8,
    "i_string_inverted_surrogates_U+1D11E.json": .loneSurrogate,
    "i_string_iso_latin_1.json": .invalidUTF8,
    "i_string_lone_second_surrogate.json": .loneSurrogate,
    "i_string_lone_utf8_continuation_byte.json": .invalidUTF8,
    "i_string_not_in_unicode_range.json": .invalidUTF8,
    "i_string_overlong_sequence_2_bytes.json": .invalidUTF8,
    "i_string_overlong_sequence_6_bytes.json": .invalidUTF8,
    "i_string_overlong_sequence_6_bytes_null.json": .invalidUTF8,
    "i_string_truncated-utf-8.json": .invalidUTF8,
    "i_string_utf16BE_no_BOM.json": .invalidUTF8,
    "i_string_utf16LE_no_BOM.json": .invalidUTF8,
    "i_structure_500_nested_arrays.json": nil,
    "i_structure_UTF-8_BOM_empty_object.json": nil,
  ]

  static let folder = "JSONTestSuite/test_parsing"
  static let names = JSONSamples.names(in: folder)

  @Test(.enabled(if: !names.isEmpty, "the shared JSONTestSuite is not beside the package"))
  func `every file of the suite is accepted, refused or decided`() throws {
    #expect(Self.names.count == 316)
    for name in Self.names {
      let bytes = try #require(JSONSamples.read(Self.folder + "/" + name))
      let error = JSONSamples.error(bytes)
      switch name.prefix(2) {
      case "y_": #expect(error == nil, "\(name)")
      case "n_":
        #expect(error != nil, "\(name)")
        #expect((error?.line ?? 0) > 0 && (error?.column ?? 0) > 0, "\(name)")
      default:
        let decision = try #require(Self.decisions[name], "\(name) is not in the table")
        #expect(error?.code == decision, "\(name)")
      }
      // Chunk borders change neither the events nor the error.
      for size in [1, 2, 3, 7] {
        let whole = Result { () throws(JSONError) in try JSONSamples.events(bytes) }
        let cut = Result { () throws(JSONError) in
          try JSONSamples.events(bytes, chunks: { size })
        }
        switch (whole, cut) {
        case (.success(let left), .success(let right)): #expect(left == right, "\(name), \(size)")
        case (.failure(let left), .failure(let right)):
          #expect(left.description == right.description, "\(name), \(size)")
        default: Issue.record("\(name) differs in chunks of \(size): \(whole), \(cut)")
        }
      }
    }
    #expect(Self.decisions.count == Self.names.count { $0.hasPrefix("i_") })
  }

  @Test func `very deep nesting is an ordinary error`() {
    let arrays = JSONSamples.error(String(repeating: "[", count: 100_000))
    #expect(arrays?.code == .tooDeep)
    #expect(arrays?.column == 1001)
    let objects = JSONSamples.error(String(repeating: "[{\"\":", count: 50_000))
    #expect(objects?.code == .tooDeep)
  }

  @Test func `a higher depth limit lets deep nesting through without recursion`() throws {
    let depth = 100_000
    let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    var reader = JSONReader(bytes: Array(text.utf8), limits: .init(depth: depth))
    var count = 0
    while try reader.next() != nil { count += 1 }
    #expect(count == 2 * depth)
  }
}
