package import ConiferDocument

extension Document {
  /// The document with the fields of a mask alone; nil for all.
  package func showing(_ mask: FieldMask?) -> Document {
    guard let mask, let fields else { return self }
    let shown = FieldMask(mask.paths.filter { !$0.isDocumentID })
    return Document(
      path, .found(MapValue.empty.taking(shown, from: fields)), version: version,
      readTime: readTime, createTime: createTime)
  }
}
